/* SPDX-License-Identifier: GPL-2.0-only */
/* What comes in: answers. */
#ifndef BENCHMON_BPF_INBOUND_H
#define BENCHMON_BPF_INBOUND_H

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>

#include "kernel.h"

#define TCP_OFFSET 12 /* of the header's length, behind which the flags are */
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

/* Whether a packet of TCP has these of SYN and ACK, or none can be read. */
static __always_inline bool has_flags(struct __sk_buff *skb, const struct bm_dest_key *key,
				      __u8 wanted)
{
	bool v4 = skb->protocol == bpf_htons(0x0800);
	__u32 head = v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	__u8 flags;

	if (key->protocol != IPPROTO_TCP)
		return false;
	return bpf_skb_load_bytes(skb, head + TCP_OFFSET + 1, &flags, sizeof(flags)) ||
	       (flags & (TCP_SYN | TCP_ACK)) == wanted;
}

/* A sealed destination opens no connection, from whatever port. */
static __always_inline bool is_opening(struct __sk_buff *skb, const struct bm_dest_key *key)
{
	return has_flags(skb, key, TCP_SYN);
}

/* The second packet of a connection. */
static __always_inline bool is_accepting(struct __sk_buff *skb, const struct bm_dest_key *key)
{
	return has_flags(skb, key, TCP_SYN | TCP_ACK);
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

#endif
