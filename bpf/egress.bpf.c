// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets: the sealed set again, out and in. Whatever made the packet (a raw socket, Fast Open, an
 * extra MPTCP subflow, a socket carried in), it is judged by the header that leaves.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "seal.h"
#include "within.h"

#define LOOPBACK_IFINDEX 1 /* in every network namespace */
#define ND_SOLICIT 135
#define ND_ADVERT 136
#define IP_FRAGMENT 0x3fff /* more fragments, or an offset */
#define TCP_RST 0x04

struct ports {
	__be16 source;
	__be16 dest;
};

/*
 * Fills key with the other end. Only what has its ports right behind a plain header is judged:
 * IP options and routing headers name another hop than the header does, a fragment has no ports.
 */
static __always_inline bool parse4(struct __sk_buff *skb, bool out, struct bm_dest_key *key)
{
	struct ports ports;
	struct iphdr ip;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return false;
	key_v4(key, out ? ip.daddr : ip.saddr);
	key->protocol = ip.protocol;
	if (ip.version != 4 || ip.ihl != 5 || ip.frag_off & bpf_htons(IP_FRAGMENT))
		return false;
	if (bpf_skb_load_bytes(skb, sizeof(ip), &ports, sizeof(ports)))
		return false;
	key->port = out ? ports.dest : ports.source;
	return true;
}

static __always_inline bool parse6(struct __sk_buff *skb, bool out, struct bm_dest_key *key)
{
	struct ports ports;
	struct ipv6hdr ip;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return false;
	__builtin_memcpy(key->address, out ? &ip.daddr : &ip.saddr, sizeof(key->address));
	key->protocol = ip.nexthdr;
	if (ip.version != 6)
		return false;
	if (bpf_skb_load_bytes(skb, sizeof(ip), &ports, sizeof(ports)))
		return false;
	key->port = out ? ports.dest : ports.source;
	return true;
}

/*
 * Neighbour discovery: the kernel sends it from a socket that may lie in the Bench's cgroup. It
 * goes no further than the link, and no socket that a Bench may have can send it.
 */
static __always_inline bool is_discovery(struct __sk_buff *skb)
{
	struct ipv6hdr ip;
	__u8 type, first, second;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)) ||
	    bpf_skb_load_bytes(skb, sizeof(ip), &type, sizeof(type)))
		return false;
	first = ip.daddr.in6_u.u6_addr8[0];
	second = ip.daddr.in6_u.u6_addr8[1];
	return ip.version == 6 && ip.nexthdr == IPPROTO_ICMPV6 && ip.hop_limit == 255 &&
	       (type == ND_SOLICIT || type == ND_ADVERT) &&
	       ((first == 0xff && second == 0x02) || (first == 0xfe && second == 0x80) ||
		(first == BM_POOL6_FIRST && second == BM_POOL6_SECOND));
}

/*
 * What SOCK_DESTROY sends while its destination is being taken back. It carries no data, and a
 * Bench that has been revoked something can send it at most once for each connection it still has.
 */
static __always_inline bool is_reset(struct __sk_buff *skb, const struct bm_dest_key *key)
{
	bool v4 = skb->protocol == bpf_htons(0x0800);
	__u32 head = v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr), size;
	__u8 tcp[2];
	__be16 len;

	if (key->protocol != IPPROTO_TCP || bpf_skb_load_bytes(skb, v4 ? 2 : 4, &len, 2) ||
	    bpf_skb_load_bytes(skb, head + TCP_OFFSET, tcp, sizeof(tcp)))
		return false;
	size = bpf_ntohs(len) - (v4 ? head : 0);
	return (tcp[1] & ~TCP_ACK) == TCP_RST && size == (tcp[0] >> 4) * 4;
}

static __always_inline int check(struct __sk_buff *skb, bool out)
{
	struct bm_cgroup *cgroup = sealed_cgroup();
	struct bm_dest_key key = { .bench = cgroup->bench };
	bool within = skb->ifindex == LOOPBACK_IFINDEX && own_loopback(cgroup), plain;
	__u32 rule = BM_RULE_PACKET;
	struct bm_event *event;

	if (within && !out)
		return 1;
	if (key.bench && skb->protocol == bpf_htons(0x86dd) && is_discovery(skb))
		return 1;
	plain = skb->protocol == bpf_htons(0x0800) ? parse4(skb, out, &key)
						   : parse6(skb, out, &key);
	if (plain && (key.protocol == IPPROTO_TCP || key.protocol == IPPROTO_UDP)) {
		if (within && !leads_outside(skb, &key))
			return 1;
		rule = seal_rule(&key);
	}
	if (rule == BM_RULE_NONE && !out && is_opening(skb, &key))
		rule = BM_RULE_NOT_SEALED;
	if (rule == BM_RULE_NOT_SEALED && within)
		rule = BM_RULE_OUTSIDE;
	if (rule == BM_RULE_NONE || (rule == BM_RULE_REVOKED && out && is_reset(skb, &key)))
		return 1;
	event = record_net(&key, out ? BM_HOOK_EGRESS : BM_HOOK_INGRESS, rule, 0);
	if (event)
		bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("cgroup_skb/egress")
int bm_egress(struct __sk_buff *skb)
{
	return check(skb, true);
}

SEC("cgroup_skb/ingress")
int bm_ingress(struct __sk_buff *skb)
{
	return check(skb, false);
}

char LICENSE[] SEC("license") = "GPL";
