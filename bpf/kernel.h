/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's structures, with only the fields that are read. Offsets come from the running
 * kernel's BTF at load (preserve_access_index), so nothing here depends on a version.
 */
#ifndef BENCHMON_BPF_KERNEL_H
#define BENCHMON_BPF_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "abi.h"
#include "numbers.h"

#define KERNEL __attribute__((preserve_access_index))

#include "kernel_cgroup.h"

typedef unsigned short umode_t;
typedef unsigned int fmode_t;

struct super_block {
	unsigned int s_dev;
	unsigned long s_flags;
	unsigned long s_magic;
} KERNEL;

struct kernel_id { /* kuid_t, kgid_t */
	unsigned int val;
} KERNEL;

struct inode {
	umode_t i_mode;
	struct kernel_id i_uid;
	struct kernel_id i_gid;
	unsigned int i_rdev;
	struct super_block *i_sb;
	unsigned long i_ino;
} KERNEL;

struct qstr {
	const unsigned char *name;
} KERNEL;

struct seqcount {
	unsigned int sequence;
} KERNEL;

struct seqcount_spinlock {
	struct seqcount seqcount;
} KERNEL;

struct dentry {
	struct seqcount_spinlock d_seq; /* odd, then higher, whenever its name or parent changes */
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
} KERNEL;

struct vfsmount {
	struct dentry *mnt_root;
	int mnt_flags;
} KERNEL;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} KERNEL;

struct file {
	struct path f_path;
	unsigned int f_flags;
	fmode_t f_mode;
} KERNEL;

struct linux_binprm {
	struct vm_area_struct *vma;
	struct file *file;
} KERNEL;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
	unsigned long *close_on_exec;
	unsigned long *open_fds;
} KERNEL;

struct fs_struct {
	struct path root;
	struct path pwd;
} KERNEL;

struct files_struct {
	struct fdtable *fdt;
} KERNEL;

struct ns_common {
	unsigned int inum;
} KERNEL;

struct user_namespace {
	int level;
	struct ns_common ns;
} KERNEL;

/* Two words in 6.1, one in 6.12; the low half is first in both. */
struct any_capabilities {
};

struct cred {
	struct any_capabilities cap_effective;
	struct user_namespace *user_ns;
	int non_rcu; /* made by access(2) for itself */
} KERNEL;

struct pid;

struct task_struct {
	unsigned int flags;
	struct pid *thread_pid;
	int pid;
	int tgid;
	__u64 start_time;
	const struct cred *real_cred;
	const struct cred *cred;
	struct css_set *cgroups;
	struct fs_struct *fs;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct files_struct *files;
} KERNEL;

#endif
