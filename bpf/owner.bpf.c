// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who gets a file's signal of readiness (SIGIO, or any other by F_SETSIG). It is sent by whoever
 * makes the file ready, often no task at all, so it is decided when the owner is named: the process
 * itself, and nobody by a number that lies in memory, where it can change after the look.
 */
#include "subject.h"

#define F_SETOWN 8
#define F_SETOWN_EX 15
#define FIOSETOWN 0x8901
#define SIOCSPGRP 0x8902

struct upid {
	int nr;
} KERNEL;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} KERNEL;

/* In its own pid namespace, as fcntl() takes it. */
static __always_inline int number_of(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u64 at = bpf_core_field_offset(struct pid, numbers) +
		   BPF_CORE_READ(pid, level) * bpf_core_type_size(struct upid);
	int number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), (void *)pid + at);
	return number;
}

static __always_inline bool names_itself(int number)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return !number || number == number_of(task) || number == number_of(task->group_leader);
}

static __always_inline int refuse_owner(__u32 hook)
{
	struct bm_bench *bench = walled_bench();

	return bench ? refuse_task(bench->id, hook, BM_RULE_OUTSIDE, EPERM, 0) : 0;
}

SEC("lsm/file_fcntl")
int BPF_PROG(bm_setown, struct file *file, unsigned int cmd, unsigned long arg)
{
	if (cmd != F_SETOWN_EX && (cmd != F_SETOWN || names_itself((int)arg)))
		return 0;
	return refuse_owner(BM_HOOK_SIGNAL);
}

SEC("lsm/file_ioctl")
int BPF_PROG(bm_setown_ioctl, struct file *file, unsigned int cmd)
{
	return cmd == FIOSETOWN || cmd == SIOCSPGRP ? refuse_owner(BM_HOOK_SIGNAL) : 0;
}

SEC("lsm/file_ioctl_compat")
int BPF_PROG(bm_setown_compat, struct file *file, unsigned int cmd)
{
	return cmd == FIOSETOWN || cmd == SIOCSPGRP ? refuse_owner(BM_HOOK_SIGNAL) : 0;
}

char LICENSE[] SEC("license") = "GPL";
