// SPDX-License-Identifier: GPL-2.0-only
/* What tells of the host and asks neither for a file of it nor for a right. */
#include "target.h"

#define PID_FS_MAGIC 0x50494446
#define PIDFD_GET_INFO 0xff0b /* type and number; the size grows */

/* By a pid, in a pid namespace that others may share. */
SEC("lsm/capget")
int BPF_PROG(bm_capget, struct task_struct *target)
{
	return check_target(target, BM_HOOK_TASK, EPERM);
}

/* Ids and the cgroup of any process, from 6.13 on; pidfd_open(2) asks for no right at all. */
static __always_inline int check_pidfd(struct file *file, unsigned int cmd)
{
	struct bm_bench *bench;

	if ((cmd & 0xffff) != PIDFD_GET_INFO ||
	    file->f_path.dentry->d_inode->i_sb->s_magic != PID_FS_MAGIC)
		return 0;
	bench = walled_bench();
	if (!bench || !(bench->flags & BM_BENCH_SHARED_PID))
		return 0;
	return refuse_task(bench->id, BM_HOOK_TASK, BM_RULE_SHARED, EPERM, 0);
}

SEC("lsm/file_ioctl")
int BPF_PROG(bm_pidfd, struct file *file, unsigned int cmd)
{
	return check_pidfd(file, cmd);
}

SEC("lsm/file_ioctl_compat")
int BPF_PROG(bm_pidfd_compat, struct file *file, unsigned int cmd)
{
	return check_pidfd(file, cmd);
}

char LICENSE[] SEC("license") = "GPL";
