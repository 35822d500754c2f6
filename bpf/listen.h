/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may open connections to a port of the Bench's. Only the address of who comes is pinned, not
 * the port that it comes from, so nothing goes out by such a port but what answers: else the Bench
 * would reach every service of its peer from there.
 */
#ifndef BENCHMON_BPF_LISTEN_H
#define BENCHMON_BPF_LISTEN_H

#include "seal.h"

/* What nft's set of the same meaning has too: userspace/network/nft_listen.c. */
#define HEARD_NS 120000000000ull

/* other is the other end; local the Bench's port. */
static __always_inline __u32 listen_rule(const struct bm_dest_key *other, __be16 local)
{
	struct bm_dest_key key = *other;

	key.port = local;
	key.side = BM_SIDE_LISTEN;
	return seal_rule(&key);
}

/* What has come in by a listen grant, of a Bench that is to tell it: nobody's context, no process.
 */
static __always_inline void tell_heard(const struct bm_cgroup *cgroup,
				       const struct bm_dest_key *other, __be16 local)
{
	struct bm_dest_key key = *other;
	struct bm_event *event;

	if (!(cgroup->flags & BM_BENCH_FIRST_USES) || !(cgroup->flags & BM_BENCH_LISTENS))
		return;
	key.port = local;
	key.side = BM_SIDE_LISTEN;
	event = record_net_use(&key, other, BM_HOOK_INGRESS);
	if (event)
		bpf_ringbuf_submit(event, 0);
}

static __always_inline struct bm_heard_key heard_key(const struct bm_dest_key *other, __be16 local)
{
	struct bm_heard_key key = { .bench = other->bench, .local = local, .other = other->port };

	__builtin_memcpy(key.address, other->address, sizeof(key.address));
	return key;
}

static __always_inline void hear(const struct bm_dest_key *other, __be16 local)
{
	struct bm_heard_key key = heard_key(other, local);
	__u64 now = bpf_ktime_get_boot_ns();

	bpf_map_update_elem(&heard, &key, &now, BPF_ANY);
}

static __always_inline bool was_heard(const struct bm_dest_key *other, __be16 local)
{
	struct bm_heard_key key = heard_key(other, local);
	__u64 *then = bpf_map_lookup_elem(&heard, &key);

	return then && bpf_ktime_get_boot_ns() - *then < HEARD_NS;
}

/* Either of two rules has to let it pass; of two refusals the one that says more. */
static __always_inline __u32 either_rule(__u32 sealed, __u32 listen)
{
	return listen == BM_RULE_NOT_SEALED ? sealed : listen;
}

/* A datagram that leaves by the Bench's port local. */
static __always_inline __u32 answer_rule(const struct bm_dest_key *other, __be16 local)
{
	__u32 rule = listen_rule(other, local);

	return rule == BM_RULE_NONE && !was_heard(other, local) ? BM_RULE_LISTEN : rule;
}

/* What came from there to that port, by whichever grant. */
static __always_inline __u32 came_rule(const struct bm_dest_key *other, __be16 local)
{
	__u32 rule = seal_rule(other);

	return rule == BM_RULE_NONE ? rule : either_rule(rule, listen_rule(other, local));
}

#endif
