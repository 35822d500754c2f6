/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose doing an event is. Only read, and by the time its verdict is given: nothing decides by it.
 */
#ifndef BENCHMON_BPF_PROCESS_H
#define BENCHMON_BPF_PROCESS_H

#include "kernel.h"

struct upid___inside {
	int nr;
} KERNEL;

struct pid___inside {
	unsigned int level;
	struct upid___inside numbers[1];
} KERNEL;

struct mm_struct___exe {
	struct file *exe_file;
} KERNEL;

struct task_struct___names {
	char comm[BM_COMM_LEN];
	struct mm_struct___exe *mm;
} KERNEL;

/* Its number in the innermost pid namespace, which is the Bench's or one made in it. */
static __always_inline __u32 pid_inside(struct task_struct *task)
{
	struct pid___inside *pid = (void *)BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level), nr = 0;
	char *numbers = (char *)__builtin_preserve_access_index(&pid->numbers[0]);

	bpf_probe_read_kernel(&nr, sizeof(nr),
			      numbers + level * bpf_core_type_size(struct upid___inside) +
				      bpf_core_field_offset(struct upid___inside, nr));
	return nr;
}

static __always_inline void record_exe(struct bm_event *event, struct task_struct *task)
{
	struct task_struct___names *names = (void *)task;
	struct dentry *dentry = BPF_CORE_READ(names, mm, exe_file, f_path.dentry);

	event->exe_count = 0;
	event->exe_truncated = 1;
	for (int i = 0; i < BM_EXE_NAMES && dentry; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);

		if (bpf_probe_read_kernel_str(event->exe[i], BM_NAME_LEN, name) < 0)
			event->exe[i][0] = '\0';
		event->exe_count = i + 1;
		if (parent == dentry) {
			event->exe_truncated = 0;
			break;
		}
		dentry = parent;
	}
}

/* Not at packets: there, current is whoever was interrupted. */
static __noinline int record_process(struct bm_event *event)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct task_struct *parent = BPF_CORE_READ(task, real_parent);
	struct task_struct___names *names = (void *)parent;
	__u64 id = bpf_get_current_pid_tgid();

	event->pid = id >> 32;
	event->tid = (__u32)id;
	event->uid = (__u32)bpf_get_current_uid_gid();
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	event->inside = pid_inside(task);
	event->parent = BPF_CORE_READ(parent, tgid);
	if (BPF_CORE_READ_STR_INTO(&event->parent_comm, names, comm) < 0)
		event->parent_comm[0] = '\0';
	record_exe(event, task);
	return 0;
}

#endif
