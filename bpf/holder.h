/* SPDX-License-Identifier: GPL-2.0-only */
/* Pid 1 of a Bench that benchmon made: nothing in the Bench gets at it. */
#ifndef BENCHMON_BPF_HOLDER_H
#define BENCHMON_BPF_HOLDER_H

#include "maps.h"

#define SIGNAL_UNKILLABLE 0x40

struct signal_struct {
	unsigned int flags;
} KERNEL;

/* The first to be started in a Bench that benchmon made: its end is the Bench's. */
static __always_inline void note_holder(struct task_struct *task, const struct bm_bench *bench)
{
	struct bm_task *state;

	if (!(bench->flags & BM_BENCH_HOLDER) || !(task->signal->flags & SIGNAL_UNKILLABLE))
		return;
	state = bpf_task_storage_get(&tasks, task, NULL, 0);
	if (state)
		state->holder = 1;
}

#endif
