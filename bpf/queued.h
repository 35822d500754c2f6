/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What lies in a socket since before its destination was taken back. Nothing comes in after that:
 * bm_ingress judges each packet before it is queued.
 */
#ifndef BENCHMON_BPF_QUEUED_H
#define BENCHMON_BPF_QUEUED_H

#include "datagrams.h"

#define AF_INET 2
#define AF_INET6 10
#define TCP_CLOSE 7
#define IPPROTO_MPTCP_ 262

static __always_inline bool same_address(const struct bm_dest_key *a, const struct bm_dest_key *b)
{
	__u64 first[2], second[2];

	__builtin_memcpy(first, a->address, sizeof(first));
	__builtin_memcpy(second, b->address, sizeof(second));
	return first[0] == second[0] && first[1] == second[1];
}

/* Local ends of a connection within the namespace: what was said between them came from nobody. */
static __always_inline bool is_within(const struct sock *sk, const struct bm_dest_key *key)
{
	struct bm_dest_key own = {};

	if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET)
		key_v4(&own, BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr));
	else
		bpf_core_read(own.address, sizeof(own.address), &sk->__sk_common.skc_v6_rcv_saddr);
	return !is_endpoint(key) &&
	       (is_loopback(key) || is_loopback(&own) || same_address(&own, key));
}

/*
 * A stream is its other end's. One that was ended and has nothing left is nobody's: what the
 * process hears of it is ECONNABORTED. ULP: kTLS has a queue of its own.
 */
static __always_inline void judge_stream(const struct sock *sk, struct queued *q)
{
	const struct inet_connection_sock *inet = (const void *)sk;
	const struct tcp_sock *tcp = (const void *)sk;
	const struct inet_sock *own = (const void *)sk;
	bool plain = BPF_CORE_READ(sk, sk_protocol) == IPPROTO_TCP, more;

	q->key.protocol = IPPROTO_TCP;
	q->key.port = BPF_CORE_READ(sk, __sk_common.skc_dport);
	if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET)
		key_v4(&q->key, BPF_CORE_READ(sk, __sk_common.skc_daddr));
	else
		bpf_core_read(q->key.address, sizeof(q->key.address),
			      &sk->__sk_common.skc_v6_daddr);
	more = !plain || BPF_CORE_READ(inet, icsk_ulp_ops);
	if ((!q->key.port && !(plain && more)) || (q->own && is_within(sk, &q->key)))
		return;
	more = more || BPF_CORE_READ(sk, __sk_common.skc_state) != TCP_CLOSE ||
	       BPF_CORE_READ(sk, sk_receive_queue.qlen) || BPF_CORE_READ(tcp, urg_data);
	/* Not skc_num, which an accepted socket has no more when it is closed. */
	if (more)
		q->rule = queued_from(q, BPF_CORE_READ(own, inet_sport));
}

/* BM_RULE_NONE: nothing in it came from what the Bench may not reach. */
static __always_inline __u32 queued_rule(const struct bm_bench *bench, const struct sock *sk,
					 struct queued *q)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	__u16 protocol = BPF_CORE_READ(sk, sk_protocol);

	*q = (struct queued){ .rule = BM_RULE_NONE,
			      .own = !(bench->flags & BM_BENCH_SHARED_NET),
			      .learns = !!(bench->flags & BM_BENCH_LEARN) };
	q->key.bench = bench->id;
	if (family != AF_INET && family != AF_INET6)
		return BM_RULE_NONE;
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP_)
		judge_stream(sk, q);
	else if (protocol == IPPROTO_UDP)
		judge_datagrams(sk, q);
	return q->rule;
}

/* For a socket in the hands of the Bench. */
static __always_inline int check_queued(const struct bm_bench *bench, const struct sock *sk)
{
	struct bm_event *event;
	struct queued q;

	if (queued_rule(bench, sk, &q) == BM_RULE_NONE)
		return 0;
	event = record_net(&q.key, BM_HOOK_RECVMSG, q.rule, EACCES);
	if (event) {
		record_process(event);
		bpf_ringbuf_submit(event, 0);
	}
	return -EACCES;
}

#endif
