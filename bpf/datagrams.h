/* SPDX-License-Identifier: GPL-2.0-only */
/* What lies in a datagram socket, and from whom: see queued.h. */
#ifndef BENCHMON_BPF_DATAGRAMS_H
#define BENCHMON_BPF_DATAGRAMS_H

#include <linux/ip.h>
#include <linux/ipv6.h>

#include "kernel_socket.h"
#include "seal.h"

#define LOOPBACK 1          /* its index in every network namespace */
#define DATAGRAMS_MAX 65536 /* looked at; a longer queue is refused */
#define TRIES 4

struct queued {
	struct bm_dest_key key;
	__u32 rule;
	__u32 own; /* loopback is */
	__u64 next, end, other_end;
};

/* From where it came, as recvfrom(2) would tell. */
static __always_inline void judge_datagram(const struct sk_buff *skb, struct queued *q)
{
	const unsigned char *head = BPF_CORE_READ(skb, head);
	const unsigned char *ip = head + BPF_CORE_READ(skb, network_header);

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
	bpf_probe_read_kernel(&q->key.port, sizeof(q->key.port),
			      head + BPF_CORE_READ(skb, transport_header));
	q->rule = seal_rule(&q->key);
}

/* A queue that is taken from meanwhile breaks off: the next one is NULL. */
static long datagram_step(__u32 i, struct queued *q)
{
	const struct sk_buff *skb = (const void *)q->next;

	if (!q->next || q->next == q->end || q->next == q->other_end)
		return 1;
	judge_datagram(skb, q);
	if (q->rule != BM_RULE_NONE)
		return 1;
	q->next = (__u64)BPF_CORE_READ(skb, next);
	return 0;
}

/* False when it could not be looked through to its end, which may be that of the other queue. */
static __always_inline bool judge_queue(const struct sk_buff_head *queue, struct queued *q)
{
	q->next = (__u64)BPF_CORE_READ(queue, next);
	bpf_loop(DATAGRAMS_MAX, datagram_step, q, 0);
	return q->rule != BM_RULE_NONE || q->next == q->end || q->next == q->other_end;
}

/*
 * A datagram socket may have heard of anybody. Its first queue is moved to the end of its second,
 * so what is not in the first any more is met in the second.
 */
static __always_inline void judge_datagrams(const struct sock *sk, struct queued *q)
{
	const struct udp_sock *udp = (const void *)sk;

	q->key.protocol = IPPROTO_UDP;
	q->end = (__u64)__builtin_preserve_access_index(&sk->sk_receive_queue);
	q->other_end = (__u64)__builtin_preserve_access_index(&udp->reader_queue);
	for (int i = 0; i < TRIES; i++)
		if (judge_queue((const void *)q->end, q) &&
		    (q->rule != BM_RULE_NONE || judge_queue((const void *)q->other_end, q)))
			return;
	q->rule = BM_RULE_DEPTH;
}

#endif
