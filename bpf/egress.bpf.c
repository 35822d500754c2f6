// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets: the sealed set again, out and in. Whatever made the packet (a raw socket, Fast Open, an
 * extra MPTCP subflow, a socket carried in), it is judged by the header that leaves.
 */
#include "learn_net.h"
#include "listen.h"
#include "packet.h"
#include "within.h"

#define LOOPBACK_IFINDEX 1 /* in every network namespace */
#define ND_SOLICIT 135
#define ND_ADVERT 136

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
 * A listen grant opens nothing from inside: neither the SYN of a connection of the Bench's own goes
 * out, nor would its answer come in.
 */
static __always_inline __u32 listen_packet_rule(struct __sk_buff *skb, const struct packet *p,
						bool out)
{
	bool udp = p->other.protocol == IPPROTO_UDP;
	__u32 rule;

	if (udp && out)
		return answer_rule(&p->other, p->local);
	rule = listen_rule(&p->other, p->local);
	if (rule != BM_RULE_NONE)
		return rule;
	if (out ? is_opening(skb, &p->other) : is_accepting(skb, &p->other))
		return BM_RULE_LISTEN;
	if (udp)
		hear(&p->other, p->local);
	return BM_RULE_NONE;
}

/* What else an endpoint asks for: that it is one, and that it is reached by the loopback it is on.
 */
static __always_inline __u32 endpoint_rule(struct __sk_buff *skb, const struct bm_dest_key *other,
					   bool loop, bool out)
{
	if (!loop)
		return BM_RULE_OUTSIDE;
	return out && is_opening(skb, other) && !leads_to_endpoint(skb, other) ? BM_RULE_OUTSIDE
									       : BM_RULE_NONE;
}

/* What goes to a broker stays in the Bench's network: the broker counts it. */
static __always_inline void count_sent(const struct bm_cgroup *cgroup, struct __sk_buff *skb)
{
	__sync_fetch_and_add(&config.sent[cgroup->slot & (BM_SLOTS - 1)], skb->len);
}

static __always_inline int check(struct __sk_buff *skb, bool out)
{
	struct bm_cgroup *cgroup = sealed_cgroup();
	struct packet p = { .other.bench = cgroup->bench };
	bool loop = skb->ifindex == LOOPBACK_IFINDEX && own_loopback(cgroup), within, plain,
	     endpoint;
	__u32 rule = BM_RULE_PACKET;
	struct bm_event *event;

	plain = skb->protocol == bpf_htons(0x0800) ? parse4(skb, out, &p) : parse6(skb, out, &p);
	endpoint = is_endpoint(&p.other);
	within = loop && !endpoint;
	if (within && !out)
		return 1;
	if (p.other.bench && skb->protocol == bpf_htons(0x86dd) && is_discovery(skb))
		return 1;
	if (plain && (p.other.protocol == IPPROTO_TCP || p.other.protocol == IPPROTO_UDP)) {
		if (within && !leads_outside(skb, &p.other))
			return 1;
		rule = seal_rule(&p.other);
	}
	if (rule == BM_RULE_NONE && !out && is_opening(skb, &p.other))
		rule = BM_RULE_NOT_SEALED;
	if (rule == BM_RULE_NONE && endpoint)
		rule = endpoint_rule(skb, &p.other, loop, out);
	if (rule == BM_RULE_NOT_SEALED && within)
		rule = BM_RULE_OUTSIDE;
	else if (rule != BM_RULE_NONE && rule != BM_RULE_PACKET && cgroup->flags & BM_BENCH_LISTENS)
		rule = either_rule(rule, listen_packet_rule(skb, &p, out));
	/* An endpoint leads to nobody but a broker, beside which a secret is confirmed apart. */
	if (rule == BM_RULE_NONE && !endpoint)
		rule = egress_rule(cgroup);
	if (rule == BM_RULE_NONE && !out)
		tell_heard(cgroup, &p.other, p.local);
	else if (rule == BM_RULE_NONE && !endpoint)
		count_sent(cgroup, skb);
	/* Whoever is at the other end of an endpoint is told too. */
	if (rule == BM_RULE_NONE ||
	    (rule == BM_RULE_REVOKED && (out || endpoint) && is_reset(skb, &p.other)))
		return 1;
	if (lets_learn(skb, cgroup, &p.other, rule, out)) {
		if (out)
			count_sent(cgroup, skb);
		return 1;
	}
	event = record_net(&p.other, out ? BM_HOOK_EGRESS : BM_HOOK_INGRESS, rule, 0);
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
