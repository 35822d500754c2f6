// SPDX-License-Identifier: GPL-2.0-only
/*
 * A socket that comes in a message. One made outside has met no wall: its cgroup is its maker's, so
 * that no cgroup program of the Bench sees a packet of it, and it may be connected already. One of
 * its own may have been on its way while a destination was taken back.
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

char LICENSE[] SEC("license") = "GPL";
