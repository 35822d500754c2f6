/* SPDX-License-Identifier: GPL-2.0-only */
/* The header of a packet, as far as it is judged by it. */
#ifndef BENCHMON_BPF_PACKET_H
#define BENCHMON_BPF_PACKET_H

#include <linux/ip.h>
#include <linux/ipv6.h>

#include "seal.h"

#define IP_FRAGMENT 0x3fff /* more fragments, or an offset */

struct ports {
	__be16 source;
	__be16 dest;
};

struct packet {
	struct bm_dest_key other; /* the other end */
	__be16 local;             /* the port at this one */
};

static __always_inline bool parse_ports(struct __sk_buff *skb, bool out, __u32 head,
					struct packet *p)
{
	struct ports ports;

	if (bpf_skb_load_bytes(skb, head, &ports, sizeof(ports)))
		return false;
	p->other.port = out ? ports.dest : ports.source;
	p->local = out ? ports.source : ports.dest;
	return true;
}

/*
 * Only what has its ports right behind a plain header is judged: IP options and routing headers
 * name another hop than the header does, a fragment has no ports.
 */
static __always_inline bool parse4(struct __sk_buff *skb, bool out, struct packet *p)
{
	struct iphdr ip;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return false;
	key_v4(&p->other, out ? ip.daddr : ip.saddr);
	p->other.protocol = ip.protocol;
	if (ip.version != 4 || ip.ihl != 5 || ip.frag_off & bpf_htons(IP_FRAGMENT))
		return false;
	return parse_ports(skb, out, sizeof(ip), p);
}

static __always_inline bool parse6(struct __sk_buff *skb, bool out, struct packet *p)
{
	struct ipv6hdr ip;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return false;
	__builtin_memcpy(p->other.address, out ? &ip.daddr : &ip.saddr, sizeof(p->other.address));
	p->other.protocol = ip.nexthdr;
	return ip.version == 6 && parse_ports(skb, out, sizeof(ip), p);
}

#endif
