/* SPDX-License-Identifier: GPL-2.0-only */
/* Which objects that end by the clock a process has mapped: expire.bpf.c. */
#ifndef BENCHMON_BPF_MAPPED_H
#define BENCHMON_BPF_MAPPED_H

#include "maps.h"

/* A child has its parent's mappings; an exec begins without any. */
static __always_inline void inherit_mapped(struct task_struct *parent, struct task_struct *child)
{
	struct bm_task *from = bpf_task_storage_get(&tasks, parent->group_leader, NULL, 0), *to;

	if (!from || parent->tgid == child->tgid)
		return;
	to = bpf_task_storage_get(&tasks, child, NULL, 0);
	for (int i = 0; to && i < BM_TASK_MAPPED; i++)
		to->mapped[i] = from->mapped[i];
}

static __always_inline void forget_mapped(struct task_struct *task)
{
	struct bm_task *state = bpf_task_storage_get(&tasks, task, NULL, 0);

	for (int i = 0; state && i < BM_TASK_MAPPED; i++)
		state->mapped[i] = 0;
}

#endif
