/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's structures again: how it goes from a file of procfs to a process. */
#ifndef BENCHMON_BPF_PROCFS_H
#define BENCHMON_BPF_PROCFS_H

#include "kernel.h"

struct proc_inode {
	struct pid *pid;
	struct inode vfs_inode;
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

#endif
