// SPDX-License-Identifier: GPL-2.0-only
/*
 * Other processes. A Bench task acts on tasks of its own Bench: whoever the kernel takes for its
 * equal otherwise, by uid or by a capability, in a pid namespace that others share.
 */
#include "target.h"

/* Also process_vm_readv, pidfd_getfd, kcmp, process_madvise, most of /proc/PID. */
SEC("lsm/ptrace_access_check")
int BPF_PROG(bm_ptrace, struct task_struct *child, unsigned int mode)
{
	return check_target(child, BM_HOOK_PTRACE, EACCES);
}

SEC("lsm/ptrace_traceme")
int BPF_PROG(bm_tracer, struct task_struct *parent)
{
	return check_target(parent, BM_HOOK_PTRACE, EACCES);
}

SEC("lsm/task_kill")
int BPF_PROG(bm_signal, struct task_struct *target, void *info, int sig, void *cred)
{
	return check_target(target, BM_HOOK_SIGNAL, EACCES);
}

SEC("lsm/task_setnice")
int BPF_PROG(bm_setnice, struct task_struct *target, int nice)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

SEC("lsm/task_setioprio")
int BPF_PROG(bm_setioprio, struct task_struct *target, int priority)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

SEC("lsm/task_getioprio")
int BPF_PROG(bm_getioprio, struct task_struct *target)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

/* Also a process's affinity. */
SEC("lsm/task_setscheduler")
int BPF_PROG(bm_setscheduler, struct task_struct *target)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

SEC("lsm/task_getscheduler")
int BPF_PROG(bm_getscheduler, struct task_struct *target)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

/* move_pages, migrate_pages. */
SEC("lsm/task_movememory")
int BPF_PROG(bm_movememory, struct task_struct *target)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

SEC("lsm/task_setpgid")
int BPF_PROG(bm_setpgid, struct task_struct *target, int group)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

SEC("lsm/task_getpgid")
int BPF_PROG(bm_getpgid, struct task_struct *target)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

SEC("lsm/task_getsid")
int BPF_PROG(bm_getsid, struct task_struct *target)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

/* A low limit of CPU time kills. */
SEC("lsm/task_setrlimit")
int BPF_PROG(bm_setrlimit, struct task_struct *target, unsigned int resource, void *limit)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

/* Told by credentials alone whose limits are read: never its own, of which the kernel does not ask.
 */
SEC("lsm/task_prlimit")
int BPF_PROG(bm_prlimit, const struct cred *cred, const struct cred *target, unsigned int flags)
{
	struct bm_bench *bench = walled_bench();

	if (!bench || !(bench->flags & BM_BENCH_SHARED_PID))
		return 0;
	return refuse_task(bench->id, BM_HOOK_TASK, BM_RULE_SHARED, EPERM, 0);
}

/* From an interrupt or whoever wrote: no telling who had the signal sent, so only for arrivals. */
SEC("lsm/file_send_sigiotask")
int BPF_PROG(bm_sigio, struct task_struct *target, void *owner, int sig)
{
	return bench_of(target->cgroups->dfl_cgrp) && task_state(target) == BM_TASK_ARRIVAL ? -EPERM
											    : 0;
}

char LICENSE[] SEC("license") = "GPL";
