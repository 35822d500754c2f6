// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading what a socket has in it from a destination that was taken back. Attached like recall's
 * programs, and as long as some Bench holds such a socket; one on its way in a message meets
 * bm_passed when it arrives.
 */
#include <linux/errno.h>

#include "iterator.h"
#include "queued.h"
#include "subject.h"

#define MAY_READ 0x4
#define IPPROTO_TCP_LEVEL 6
#define TCP_ZEROCOPY_RECEIVE 35

struct msghdr;

static __always_inline int check_socket(const struct socket *socket)
{
	struct bm_bench *bench = walled_bench();
	const struct sock *sk = socket->sk;

	return bench && sk ? check_queued(bench, sk) : 0;
}

/* read, recv and their like, also with MSG_PEEK, of the error queue, and by aio. */
SEC("lsm/socket_recvmsg")
int BPF_PROG(bm_queued, struct socket *socket, struct msghdr *msg, int size, int flags, int ret)
{
	return ret ?: check_socket(socket);
}

/* splice and sendfile of a TCP socket come to no other hook. */
SEC("lsm/file_permission")
int BPF_PROG(bm_queued_file, struct file *file, int mask, int ret)
{
	struct socket *socket;

	if (ret || !(mask & MAY_READ) || !config.level_count ||
	    !(file->f_path.mnt->mnt_flags & MNT_INTERNAL))
		return ret;
	socket = bpf_sock_from_file(file);
	return socket ? check_socket(socket) : 0;
}

/* Pages of the queue are mapped by an option that is asked for. */
SEC("lsm/socket_getsockopt")
int BPF_PROG(bm_queued_option, struct socket *socket, int level, int name, int ret)
{
	if (ret || level != IPPROTO_TCP_LEVEL || name != TCP_ZEROCOPY_RECEIVE)
		return ret;
	return check_socket(socket);
}

/* User space asks: the number of its Bench for each descriptor of a socket that is refused. */
SEC("iter/task_file")
int bm_queued_list(struct bpf_iter__task_file *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	const struct bm_bench *bench;
	const struct sock *sk;
	struct socket *socket;
	struct queued q;
	__u32 id;

	if (!task || !file)
		return 0;
	bench = bench_of(task->cgroups->dfl_cgrp);
	if (!bench)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || queued_rule(bench, sk, &q) == BM_RULE_NONE)
		return 0;
	id = bench->id;
	bpf_seq_write(seq, &id, sizeof(id));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
