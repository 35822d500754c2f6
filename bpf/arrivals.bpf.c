// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrivals: the runtime works inside the Bench's cgroup before the payload exists. A task that
 * enters from outside is marked, its children too, until it executes the payload. Nothing inside
 * a Bench can obtain a mark: a task born there is resident, and residents are never marked.
 */
#include "holder.h"
#include "mapped.h"
#include "record.h"
#include "who.h"

#define SIGKILL 9

static __always_inline bool set_state(struct task_struct *task, __u32 value, __u32 bench)
{
	struct bm_task initial = { .state = value, .bench = bench };
	struct bm_task *state =
		bpf_task_storage_get(&tasks, task, &initial, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!state)
		return false;
	state->state = value;
	state->bench = bench;
	return true;
}

/*
 * Of the Bench as much as who makes it. By the cgroup first: an entry of benches that is written
 * anew lies elsewhere, and where it lay another may, so that two look-ups need not agree.
 */
static __always_inline bool is_born_there(struct task_struct *parent, struct task_struct *child,
					  __u32 bench)
{
	struct bm_bench *own;

	if (parent->cgroups->dfl_cgrp == child->cgroups->dfl_cgrp)
		return true;
	own = bench_of_current();
	return own && own->id == bench;
}

/* Before the child runs: it is woken after this tracepoint, and its cgroup is settled. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(bm_fork, struct task_struct *parent, struct task_struct *child)
{
	struct bm_bench *bench;
	__u32 id;

	if (!config.level_count)
		return 0;
	bench = bench_of(child->cgroups->dfl_cgrp);
	if (!bench)
		return 0;
	id = bench->id;
	if (is_born_there(parent, child, id) && !arrives(parent, id))
		set_state(child, BM_TASK_RESIDENT, id);
	else
		set_state(child, BM_TASK_ARRIVAL, id);
	inherit_mapped(parent, child);
	return 0;
}

/*
 * A task moved in. One that was there when the Bench was attached is older than that; one born
 * there since is resident; both may be moved between child cgroups and stay what they are.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(bm_migrate, struct cgroup *to, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	struct bm_bench *bench;

	if (!config.level_count)
		return 0;
	bench = bench_of(to);
	if (!bench || task->start_time <= bench->attached_ns || task_state(task) != BM_TASK_UNKNOWN)
		return 0;
	set_state(task, BM_TASK_ARRIVAL, bench->id);
	return 0;
}

/*
 * The mode of an open file, 0 when fd is closed. What is no pipe or socket is the operator's
 * redirection, outside of every object: it is remembered.
 */
static __always_inline __u32 carry(struct fdtable *fdt, int fd, __u32 bench)
{
	struct bm_carried_key key = { .bench = bench };
	struct file **slot = fdt->fd;
	struct file *file = NULL;
	__u32 mode, one = 1;

	bpf_probe_read_kernel(&file, sizeof(file), slot + fd);
	if (!file)
		return 0;
	mode = BPF_CORE_READ(file, f_path.dentry, d_inode, i_mode);
	if (BPF_CORE_READ(file, f_path.mnt, mnt_flags) & MNT_INTERNAL)
		return mode;
	key.device = BPF_CORE_READ(file, f_path.dentry, d_inode, i_sb, s_dev);
	key.inode = BPF_CORE_READ(file, f_path.dentry, d_inode, i_ino);
	bpf_map_update_elem(&carried, &key, &one, BPF_ANY);
	return mode;
}

SEC("lsm/bprm_committed_creds")
int BPF_PROG(bm_payload, struct linux_binprm *bprm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bm_bench *bench = bench_of_current();
	struct bm_event *event;
	struct fdtable *fdt;
	__u32 id, mode[3];
	bool arrived;

	if (!bench)
		return 0;
	id = bench->id;
	arrived = arrives(task, id);
	/* Before 6.2 a storage can't be had while a task that holds the CPU's is preempted. */
	if (!set_state(task, BM_TASK_RESIDENT, id))
		bpf_send_signal(SIGKILL);
	forget_mapped(task);
	if (!arrived)
		return 0;
	note_holder(task, bench);
	fdt = task->files->fdt;
	for (int fd = 0; fd < 3; fd++)
		mode[fd] = carry(fdt, fd, id);
	event = record(id, BM_HOOK_ARRIVAL, BM_ALLOW, BM_RULE_NONE, 0);
	if (!event)
		return 0;
	record_process(event);
	event->arrival.fd = 0;
	for (int fd = 0; fd < 3; fd++)
		event->arrival.mode[fd] = mode[fd];
	bpf_ringbuf_submit(event, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
