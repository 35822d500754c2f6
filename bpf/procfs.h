/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's structures again: how it goes from a file of procfs to a process. */
#ifndef BENCHMON_BPF_PROCFS_H
#define BENCHMON_BPF_PROCFS_H

#include "kernel.h"

struct proc_inode {
	struct pid *pid;
	struct inode vfs_inode;
} KERNEL;

struct super_block___root {
	struct dentry *s_root;
} KERNEL;

struct hlist_node {
	struct hlist_node *next;
} KERNEL;

struct hlist_head {
	struct hlist_node *first;
} KERNEL;

struct pid {
	struct hlist_head tasks[1]; /* PIDTYPE_PID */
} KERNEL;

struct net {
	struct ns_common ns;
} KERNEL;

struct nsproxy {
	struct net *net_ns;
} KERNEL;

struct task_struct___proc {
	struct hlist_node pid_links[1];
	struct nsproxy *nsproxy;
} KERNEL;

/* NULL for what is of no process. A link to self too is of none: who follows it asks again. */
static __always_inline __u64 pid_of(const struct inode *inode)
{
	const struct proc_inode *proc;

	proc = (const void *)((const char *)inode -
			      bpf_core_field_offset(struct proc_inode, vfs_inode));
	return (__u64)BPF_CORE_READ(proc, pid);
}

/* What open_by_handle_at(2) gives may have no way up, and then is its own parent too. */
static __always_inline bool is_root(const struct inode *inode, __u64 dentry)
{
	const struct super_block___root *sb = (const void *)BPF_CORE_READ(inode, i_sb);

	return (__u64)BPF_CORE_READ(sb, s_root) == dentry;
}

#endif
