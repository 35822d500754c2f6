// SPDX-License-Identifier: GPL-2.0-only
/* What tells of the host and asks neither for a file of it nor for a right. */
#include "check.h"
#include "subject.h"

#define PID_FS_MAGIC 0x50494446
#define PIDFD_GET_INFO 0xff0b /* type and number; the size grows */

/*
 * ustat(2) takes any device number. It asks about the root of the file system; other than a root
 * is what statfs(2) was led to, and what an overlay has of it below.
 */
SEC("lsm/sb_statfs")
int BPF_PROG(bm_statfs, struct dentry *dentry)
{
	return dentry->d_parent == dentry ? check_dentry(dentry, BM_HOOK_GETATTR, BM_R, 0, 0) : 0;
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
