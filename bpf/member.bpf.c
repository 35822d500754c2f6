// SPDX-License-Identifier: GPL-2.0-only
#include "member.h"
#include "maps.h"
#include "procfs.h"

/* Storages of one task; those of other programs are among them. */
#define STORAGES_MAX 64

struct bpf_map {
	__u32 id;
} KERNEL;

struct bpf_local_storage_map {
	struct bpf_map map;
} KERNEL;

struct bpf_local_storage_data {
	struct bpf_local_storage_map *smap;
	unsigned char data[];
} KERNEL;

struct bpf_local_storage_elem {
	struct hlist_node snode;
	struct bpf_local_storage_data sdata;
} KERNEL;

struct bpf_local_storage {
	struct hlist_head list;
} KERNEL;

struct task_struct___storage {
	struct bpf_local_storage *bpf_storage;
} KERNEL;

struct search {
	__u64 node;
	__u32 map;
	struct bm_task found;
};

static long search_step(__u32 i, struct search *search)
{
	const struct bpf_local_storage_elem *element;
	const struct hlist_node *node = (const void *)search->node;

	if (!node)
		return 1;
	element = (const void *)((const char *)node -
				 bpf_core_field_offset(struct bpf_local_storage_elem, snode));
	if (BPF_CORE_READ(element, sdata.smap, map.id) == search->map) {
		bpf_probe_read_kernel(
			&search->found, sizeof(search->found),
			(const char *)element +
				bpf_core_field_offset(struct bpf_local_storage_elem, sdata) +
				bpf_core_field_offset(struct bpf_local_storage_data, data));
		return 1;
	}
	search->node = (__u64)BPF_CORE_READ(node, next);
	return 0;
}

/* What bpf_task_storage_get() would find. */
int member_arrives(__u64 task, __u32 bench)
{
	const struct task_struct___storage *of = (const void *)task;
	const struct bpf_local_storage *storage = BPF_CORE_READ(of, bpf_storage);
	struct search search = {};

	if (!storage)
		return 0;
	search.map = ((const struct bpf_map *)&tasks)->id;
	search.node = (__u64)BPF_CORE_READ(storage, list.first);
	bpf_loop(STORAGES_MAX, search_step, &search, 0);
	return search.found.state == BM_TASK_ARRIVAL && search.found.bench == bench;
}

struct ascent {
	__u64 cgroup;
	__u64 wanted; /* a cgroup id */
	__u32 found;
};

static long ascent_step(__u32 i, struct ascent *ascent)
{
	const struct cgroup *cgroup = (const void *)ascent->cgroup;
	const struct cgroup_subsys_state *parent;

	if (BPF_CORE_READ(cgroup, kn, id) == ascent->wanted) {
		ascent->found = 1;
		return 1;
	}
	parent = BPF_CORE_READ(cgroup, self.parent);
	if (!parent)
		return 1;
	ascent->cgroup = (__u64)BPF_CORE_READ(parent, cgroup);
	return 0;
}

/* Of a task that is gone, nothing is known: outside. */
int member_rule(__u64 task, __u64 cgroup, __u32 bench)
{
	const struct task_struct *of = (const void *)task;
	struct ascent ascent = { .wanted = cgroup };

	if (!task || !cgroup)
		return BM_RULE_OUTSIDE;
	ascent.cgroup = (__u64)BPF_CORE_READ(of, cgroups, dfl_cgrp);
	bpf_loop(BM_MAX_LEVEL, ascent_step, &ascent, 0);
	if (!ascent.found)
		return BM_RULE_OUTSIDE;
	return member_arrives(task, bench) ? BM_RULE_ARRIVAL : BM_RULE_NONE;
}

char LICENSE[] SEC("license") = "GPL";
