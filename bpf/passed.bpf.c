// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is no file and comes in a message: sockets, and the kernel's anonymous inodes. A socket made
 * outside has met no wall: its cgroup is its maker's, so that no cgroup program of the Bench sees a
 * packet of it, and it may be connected already. One of its own may have been on its way while a
 * destination was taken back.
 */
#include <linux/errno.h>

#include "check.h"
#include "queued.h"
#include "subject.h"

SEC("lsm/file_receive")
int BPF_PROG(bm_passed, struct file *file)
{
	struct decision decision = { .rule = BM_RULE_OUTSIDE };
	struct bm_bench *bench = walled_bench(), *other = NULL;
	struct socket *socket;
	struct sock *sk;
	__u32 id;

	if (!bench)
		return 0;
	id = bench->id;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (sk)
		other = bench_of(sk->sk_cgrp_data.cgroup);
	if (other && other->id == id)
		return check_queued(bench, sk);
	record_file(id, BM_HOOK_RECEIVE, file, BM_R | BM_W, &decision);
	return -EACCES;
}

/*
 * What an anonymous inode leads to is told by its name alone, of which the first letters do. A
 * watch or a ring on its way in a socket would not be found when a grant ends, and lead to its
 * files when it has arrived. Of the others what a Bench makes itself may come: not a map of bpf(2),
 * which can be mapped, a counter of perf, a virtual machine, another's page faults, or what there
 * is next.
 */
#define LETTERS 8
#define NAMED(text) (!__builtin_memcmp(name, text, LETTERS))

static __always_inline __u32 anonymous_rule(struct file *file)
{
	struct dentry *dentry = file->f_path.dentry;
	char name[LETTERS] = {};

	if (!(file->f_path.mnt->mnt_flags & MNT_INTERNAL) ||
	    dentry->d_inode->i_sb->s_magic != ANON_INODE_FS_MAGIC)
		return BM_RULE_NONE;
	bpf_probe_read_kernel_str(name, sizeof(name), dentry->d_name.name);
	if (NAMED("inotify") || NAMED("[fanoti") || NAMED("[io_uri"))
		return BM_RULE_HOST_TOOLS;
	return NAMED("[eventf") || NAMED("[eventp") || NAMED("[timerf") || NAMED("[signal") ||
			       NAMED("[pidfd]") || NAMED("seccomp") || NAMED("[landlo")
		       ? BM_RULE_NONE
		       : BM_RULE_KERNEL;
}

SEC("lsm/file_receive")
int BPF_PROG(bm_anonymous, struct file *file)
{
	struct decision decision = { .rule = anonymous_rule(file) };
	struct bm_bench *bench;

	if (decision.rule == BM_RULE_NONE)
		return 0;
	bench = walled_bench();
	if (!bench)
		return 0;
	record_file(bench->id, BM_HOOK_RECEIVE, file, BM_R, &decision);
	return -EACCES;
}

char LICENSE[] SEC("license") = "GPL";
