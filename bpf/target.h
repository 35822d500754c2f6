/* SPDX-License-Identifier: GPL-2.0-only */
/* May a Bench task act on that other task? */
#ifndef BENCHMON_BPF_TARGET_H
#define BENCHMON_BPF_TARGET_H

#include "subject.h"

/*
 * Why not, or BM_RULE_NONE. A task that was born in the Bench has a mark; without one it is older
 * than the Bench, or its mark found no room: then nobody in the Bench touches it.
 */
static __always_inline __u32 target_rule(const struct bm_bench *bench, struct task_struct *target)
{
	struct bm_bench *other = bench_of(target->cgroups->dfl_cgrp);
	struct bm_task *state;

	if (!other || other->id != bench->id)
		return BM_RULE_OUTSIDE;
	state = bpf_task_storage_get(&tasks, target, NULL, 0);
	if (!state)
		return bench->flags & BM_BENCH_HOLDER || target->start_time > bench->attached_ns
			       ? BM_RULE_ARRIVAL
			       : BM_RULE_NONE;
	if (state->state == BM_TASK_ARRIVAL)
		return BM_RULE_ARRIVAL;
	return state->holder ? BM_RULE_HOLDER : BM_RULE_NONE;
}

static __always_inline int check_target(struct task_struct *target, __u32 hook, int error)
{
	struct bm_bench *bench;
	__u32 rule, id;

	if (target->tgid == bpf_get_current_pid_tgid() >> 32)
		return 0;
	bench = walled_bench();
	if (!bench)
		return 0;
	id = bench->id;
	rule = target_rule(bench, target);
	return rule == BM_RULE_NONE ? 0 : refuse_task(id, hook, rule, error, target->tgid);
}

#endif
