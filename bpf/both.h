/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Bench never has both egress and a secret, whatever stands in the maps: whoever wrote an entry
 * there by hand, or one at the moment in which the other was written, gets one of both at most.
 */
#ifndef BENCHMON_BPF_BOTH_H
#define BENCHMON_BPF_BOTH_H

#include "maps.h"

/*
 * True: it has what, and for its life never the other. Who only asks (ASKS: why.bpf.c) learns the
 * same, and gives it nothing.
 */
static __always_inline bool claim(__u32 slot, __u32 what)
{
	volatile __u32 *ever = &config.ever[slot & (BM_SLOTS - 1)];
	__u32 was = *ever;

	if (was == what)
		return true;
	if (was || !slot)
		return false;
#ifdef ASKS
	return true;
#endif
	was = __sync_val_compare_and_swap(ever, 0, what);
	return !was || was == what;
}

/* What judge() says of a secret is a refusal until this has been asked. */
static __always_inline __u32 never_both(const struct bm_bench *bench, __u32 rule)
{
	if (rule != BM_RULE_NEVER_BOTH || !claim(bench->slot, BM_EVER_SECRET))
		return rule;
	return BM_RULE_NONE;
}

/* For what may leave by its destination, or come from there. */
static __always_inline __u32 egress_rule(const struct bm_cgroup *cgroup)
{
	return claim(cgroup->slot, BM_EVER_EGRESS) ? BM_RULE_NONE : BM_RULE_NEVER_BOTH;
}

#endif
