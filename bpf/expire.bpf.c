// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings of what a grant with an expiry gave: no hook is asked when they are read, and nobody may
 * be there to take them back when the time has come. So who maps is noted, and ended by the first
 * tick of the clock that finds it running after that.
 */
#include "argument.h"
#include "check.h"

#define SIGKILL 9
/* gatekeeperd, when it lives, knows better who still has a mapping: it is given this much time. */
#define GRACE_NS 1000000000ull

struct atomic_count {
	int counter;
} KERNEL;

struct signal_struct {
	struct atomic_count live;
} KERNEL;

struct mm_struct {
	struct atomic_count mm_users;
} KERNEL;

static __always_inline bool is_over(__u32 bench, __u64 object, __u64 grace_ns)
{
	struct bm_grant_key key = { .bench = bench, .object = object };
	struct bm_grant *grant = bpf_map_lookup_elem(&grants, &key);

	/* Without an expiry it has been carried through. */
	return grant && grant->expiry_ns && bpf_ktime_get_boot_ns() >= grant->expiry_ns + grace_ns;
}

static __always_inline bool is_gone(__u32 bench, __u64 object)
{
	struct bm_grant_key key = { .bench = bench, .object = object };
	struct bm_grant *grant = bpf_map_lookup_elem(&grants, &key);

	return !grant || (!grant->rights && !grant->expiry_ns);
}

/* For the whole process: threads have one address space. */
static __always_inline bool note(__u32 bench, struct task_struct *leader, __u64 object)
{
	struct bm_task initial = {};
	struct bm_task *task =
		bpf_task_storage_get(&tasks, leader, &initial, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!task)
		return false;
	for (int i = 0; i < BM_TASK_MAPPED; i++) {
		if (task->mapped[i] && task->mapped[i] != object &&
		    !is_gone(bench, task->mapped[i]))
			continue;
		task->mapped[i] = object;
		return true;
	}
	return false;
}

/* Also another process has it, by CLONE_VM: that one could not be told from the rest. */
static __always_inline bool shares_memory(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, mm_users.counter) >
	       BPF_CORE_READ(task, signal, live.counter);
}

SEC("lsm/mmap_file")
int BPF_PROG(bm_expire_map, struct file *file, unsigned long reqprot, unsigned long prot,
	     unsigned long flags, int ret)
{
	enum argument there = first_argument(ctx);
	struct task_struct *task;
	struct decision decision;
	struct bm_bench *bench;
	__u32 id;

	if (ret || there == ARGUMENT_NULL)
		return ret;
	bench = bench_of_current();
	if (!bench)
		return 0;
	if (there == ARGUMENT_UNKNOWN)
		return -EACCES;
	id = bench->id;
	decide(bench, file, BM_R, &decision);
	if (decision.rule != BM_RULE_NONE || !decision.expiry_ns)
		return 0;
	task = bpf_get_current_task_btf();
	if (!shares_memory(task) && note(id, task->group_leader, decision.object))
		return 0;
	decision.rule = BM_RULE_NOT_TRACKED;
	record_file(id, BM_HOOK_MMAP, file, BM_R, &decision);
	return -EACCES;
}

/* scheduler_tick before 6.10; user space says which. */
SEC("fentry/sched_tick")
int BPF_PROG(bm_tick)
{
	struct bm_bench *bench;
	struct bm_task *task;
	__u32 id;

	if (!config.level_count)
		return 0;
	bench = bench_of_current();
	if (!bench)
		return 0;
	id = bench->id;
	task = bpf_task_storage_get(&tasks, bpf_get_current_task_btf()->group_leader, NULL, 0);
	if (!task)
		return 0;
	for (int i = 0; i < BM_TASK_MAPPED; i++) {
		if (!task->mapped[i] || !is_over(id, task->mapped[i], GRACE_NS))
			continue;
		/* Not where it could not be sent: the next tick tries again. */
		if (bpf_send_signal(SIGKILL) == 0)
			record_bare(id, BM_HOOK_EXPIRY, 0, BM_RULE_EXPIRED, 0);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
