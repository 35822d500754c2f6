/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a Bench that learns is let through to, and who may answer. Not by loopback: in a network of
 * others' that is their services, and elsewhere a broker's endpoint.
 */
#ifndef BENCHMON_BPF_LEARN_NET_H
#define BENCHMON_BPF_LEARN_NET_H

#include "inbound.h"
#include "learned.h"
#include "seal.h"

static __always_inline bool learns_net(const struct bm_cgroup *cgroup, const struct bm_dest_key *to,
				       __u32 rule)
{
	return cgroup->flags & BM_BENCH_LEARN && rule == BM_RULE_NOT_SEALED && !is_loopback(to) &&
	       !is_endpoint(to);
}

static __always_inline struct bm_learned_key learned_net(const struct bm_dest_key *to, __u16 kind)
{
	struct bm_learned_key key = {
		.bench = to->bench, .kind = kind, .what = to->protocol, .port = to->port
	};

	__builtin_memcpy(key.where, to->address, sizeof(key.where));
	return key;
}

/* NULL: it has been told before, or the event finds no room. */
static __always_inline struct bm_event *record_learned(const struct bm_dest_key *to, __u32 hook)
{
	struct bm_learned_key key = learned_net(to, BM_LEARNED_NET);
	struct bm_event *event;

	if (is_learned(&key, 1))
		return NULL;
	event = record(to->bench, hook, BM_WOULD_DENY, BM_RULE_NOT_SEALED, 0);
	if (!event)
		return NULL;
	fill_net(&event->net, to, 0);
	learn(&key);
	return event;
}

static __always_inline void await_answer(const struct bm_dest_key *to)
{
	struct bm_learned_key key = learned_net(to, BM_LEARNED_ANSWERS);

	if (!is_learned(&key, 1))
		learn(&key);
}

/* Whom it has sent nothing, it hears nothing of. */
static __always_inline bool may_answer(const struct bm_dest_key *from)
{
	struct bm_learned_key key = learned_net(from, BM_LEARNED_ANSWERS);

	return is_learned(&key, 1);
}

/* What leaves is told, and may be answered; nothing but answers comes in. */
static __always_inline bool lets_learn(struct __sk_buff *skb, const struct bm_cgroup *cgroup,
				       const struct bm_dest_key *other, __u32 rule, bool out)
{
	struct bm_event *event;

	if (!learns_net(cgroup, other, rule) || egress_rule(cgroup) != BM_RULE_NONE)
		return false;
	if (!out)
		return !is_opening(skb, other) && may_answer(other);
	await_answer(other);
	event = record_learned(other, BM_HOOK_EGRESS);
	if (event)
		bpf_ringbuf_submit(event, 0);
	return true;
}

#endif
