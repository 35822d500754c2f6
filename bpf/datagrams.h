/* SPDX-License-Identifier: GPL-2.0-only */
/* What lies in a datagram socket, and from whom: see queued.h. */
#ifndef BENCHMON_BPF_DATAGRAMS_H
#define BENCHMON_BPF_DATAGRAMS_H

#include <linux/ip.h>
#include <linux/ipv6.h>

#include "kernel_socket.h"
#include "listen.h"

#define LOOPBACK 1          /* its index in every network namespace */
#define DATAGRAMS_MAX 65536 /* looked at; a longer queue is refused */

struct queued {
	struct bm_dest_key key;
	__u32 rule;
	__u16 own; /* loopback is */
	__u16 learns;
	__u64 queue, previous, next, end, other_end;
};

/* What came to who learns was an answer. */
static __always_inline __u32 queued_from(const struct queued *q, __be16 local)
{
	__u32 rule = came_rule(&q->key, local);

	return rule == BM_RULE_NOT_SEALED && q->learns ? BM_RULE_NONE : rule;
}

/* From where it came, as recvfrom(2) would tell. */
static __always_inline void judge_datagram(const struct sk_buff *skb, struct queued *q)
{
	const unsigned char *head = BPF_CORE_READ(skb, head);
	const unsigned char *ip = head + BPF_CORE_READ(skb, network_header);
	__be16 ports[2] = {}; /* from, to */

	if (q->own && BPF_CORE_READ(skb, skb_iif) == LOOPBACK)
		return;
	if (BPF_CORE_READ(skb, protocol) == bpf_htons(0x0800)) {
		__u32 address = 0;

		bpf_probe_read_kernel(&address, sizeof(address),
				      ip + offsetof(struct iphdr, saddr));
		key_v4(&q->key, address);
	} else {
		bpf_probe_read_kernel(q->key.address, sizeof(q->key.address),
				      ip + offsetof(struct ipv6hdr, saddr));
	}
	bpf_probe_read_kernel(ports, sizeof(ports), head + BPF_CORE_READ(skb, transport_header));
	q->key.port = ports[0];
	q->rule = queued_from(q, ports[1]);
}

static __always_inline void from_the_first(struct queued *q)
{
	const struct sk_buff_head *queue = (const void *)q->queue;

	q->previous = q->queue;
	q->next = (__u64)BPF_CORE_READ(queue, next);
}

/* Not once it has been taken out: then what was read of it may be another's by now. */
static __always_inline bool is_still_there(const struct queued *q)
{
	const struct sk_buff *previous = (const void *)q->previous;

	return q->next && q->next == (__u64)BPF_CORE_READ(previous, next);
}

/* A queue is taken from while it is looked through, by who found it clean: so it begins anew. */
static long datagram_step(__u32 i, struct queued *q)
{
	const struct sk_buff *skb = (const void *)q->next;
	__u64 next;

	if (q->next == q->end || q->next == q->other_end)
		return 1;
	judge_datagram(skb, q);
	next = (__u64)BPF_CORE_READ(skb, next);
	if (!is_still_there(q)) {
		q->rule = BM_RULE_NONE;
		from_the_first(q);
		return 0;
	}
	if (q->rule != BM_RULE_NONE)
		return 1;
	q->previous = q->next;
	q->next = next;
	return 0;
}

/* It may end in the other one, which it has been moved to. */
static __always_inline void judge_queue(__u64 queue, struct queued *q)
{
	q->queue = queue;
	from_the_first(q);
	bpf_loop(DATAGRAMS_MAX, datagram_step, q, 0);
	if (q->rule == BM_RULE_NONE && q->next != q->end && q->next != q->other_end)
		q->rule = BM_RULE_DEPTH;
}

/*
 * A datagram socket may have heard of anybody. Its first queue is moved to the end of its second,
 * so what is not in the first any more is met in the second.
 */
static __always_inline void judge_datagrams(const struct sock *sk, struct queued *q)
{
	const struct udp_sock *udp = (const void *)sk;

	q->key.protocol = IPPROTO_UDP;
	q->end = (__u64)&sk->sk_receive_queue;
	q->other_end = (__u64)&udp->reader_queue;
	judge_queue(q->end, q);
	if (q->rule == BM_RULE_NONE)
		judge_queue(q->other_end, q);
}

#endif
