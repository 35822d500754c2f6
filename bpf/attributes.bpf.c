// SPDX-License-Identifier: GPL-2.0-only
/*
 * What chattr(1) sets and lsattr(1) shows. From 6.17 on two system calls of their own do it, by a
 * name and with no ioctl: another door to what check_flags() keeps shut.
 */
#include "check.h"

/* It would show an excepted name under others, as soon as it heeds no case. */
static __always_inline bool holds_excepted(struct dentry *dentry)
{
	struct bm_bench *bench = bench_of_current();

	return bench && bench->flags & BM_BENCH_NESTED && object_of(dentry->d_inode);
}

SEC("lsm/inode_file_setattr")
int BPF_PROG(bm_set_flags, struct dentry *dentry, void *flags)
{
	return check_dentry(dentry, BM_HOOK_IOCTL, BM_W, holds_excepted(dentry), BM_RULE_EXCEPTED);
}

SEC("lsm/inode_file_getattr")
int BPF_PROG(bm_get_flags, struct dentry *dentry, void *flags)
{
	return check_dentry(dentry, BM_HOOK_GETATTR, BM_R, 0, 0);
}

char LICENSE[] SEC("license") = "GPL";
