/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The second question about a file of procfs, sysfs or cgroupfs. That the file system is the
 * Bench's own says nothing of what is in it: there the kernel tells of the whole machine.
 */
#ifndef BENCHMON_BPF_KERNFS_H
#define BENCHMON_BPF_KERNFS_H

#include "kernel.h"

/*
 * kernfs.bpf.c. A global function, which the verifier follows once in a program, wherever it is
 * called; that takes numbers, not pointers. level is that of the Bench's cgroup.
 */
int kernfs_rule(__u64 dentry, __u64 magic, __u32 bench, __u32 level, __u32 wanted);

/* Beside the rights that are wanted: no /proc/PID/net, whoever's it is. */
#define KERNFS_NO_NET 0x100

/* Nor that: whoever asks is not of the Bench, whose cgroup stands in `asked`. */
#define KERNFS_ASKED 0x200

/* The address alone, which the verifier takes for any number. */
static __always_inline __u64 address_of(const void *pointer)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &pointer);
	return address;
}

static __always_inline __u32 rule_in_kernfs(const struct bm_bench *bench, struct dentry *dentry,
					    __u32 wanted)
{
	unsigned long magic = dentry->d_inode->i_sb->s_magic;

	if (magic != PROC_SUPER_MAGIC && magic != SYSFS_MAGIC && magic != CGROUP2_SUPER_MAGIC)
		return BM_RULE_NONE;
	/* It may hold another network than its own, and whose a file is there can't be told from
	 * who opens it: a task moves, and an O_PATH descriptor stays.
	 */
	if (bench->flags & BM_BENCH_USERNS && bench->flags & BM_BENCH_SHARED_NET)
		wanted |= KERNFS_NO_NET;
#ifdef ASKS
	wanted |= KERNFS_ASKED;
#endif
	return kernfs_rule(address_of(dentry), magic, bench->id, bench->level, wanted);
}

#endif
