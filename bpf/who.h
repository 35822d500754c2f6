/* SPDX-License-Identifier: GPL-2.0-only */
/* Which Bench a task belongs to, and what it is to that Bench. */
#ifndef BENCHMON_BPF_WHO_H
#define BENCHMON_BPF_WHO_H

#include "maps.h"

static __always_inline struct bm_bench *bench_of_cgroup(__u64 id)
{
	if (!(config.filter[(id >> 6) % BM_FILTER_WORDS] & (1ull << (id & 63))))
		return NULL;
	return bpf_map_lookup_elem(&benches, &id);
}

/* A child cgroup belongs to its Bench: the ancestor at each level that holds one is asked. */
static __always_inline struct bm_bench *bench_of_current(void)
{
	__u32 count = config.level_count;

	for (__u32 i = 0; i < BM_MAX_LEVELS; i++) {
		struct bm_bench *bench;

		if (i >= count)
			break;
		bench = bench_of_cgroup(bpf_get_current_ancestor_cgroup_id(config.level[i]));
		if (bench)
			return bench;
	}
	return NULL;
}

/* The same for a cgroup at hand, by walking up: its ancestors[] can't be indexed from BTF. */
static __always_inline struct bm_bench *bench_of(struct cgroup *cgroup)
{
	for (int i = 0; i < BM_MAX_LEVEL && cgroup; i++) {
		struct bm_bench *bench = bench_of_cgroup(cgroup->kn->id);
		struct cgroup_subsys_state *parent;

		if (bench)
			return bench;
		parent = cgroup->self.parent;
		if (!parent)
			return NULL;
		cgroup = parent->cgroup;
	}
	return NULL;
}

static __always_inline __u32 task_state(struct task_struct *task)
{
	struct bm_task *state = bpf_task_storage_get(&tasks, task, NULL, 0);

	return state ? state->state : BM_TASK_UNKNOWN;
}

/*
 * Only a mark for this very Bench exempts: ids are never used twice, so a mark that was left by
 * an earlier Bench says nothing. A look-up that fails makes an arrival an ordinary, walled task.
 */
static __always_inline bool arrives(struct task_struct *task, __u32 bench)
{
	struct bm_task *state = bpf_task_storage_get(&tasks, task, NULL, 0);

	return state && state->state == BM_TASK_ARRIVAL && state->bench == bench;
}

static __always_inline bool is_arrival(__u32 bench)
{
	return arrives(bpf_get_current_task_btf(), bench);
}

#endif
