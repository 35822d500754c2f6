// SPDX-License-Identifier: GPL-2.0-only
/*
 * User space asks about the sockets that there are. When a container that runs is attached: which
 * its processes have that no wall would meet again. One that was made outside belongs to another
 * cgroup, whose programs see its packets; one of another family is seen by none.
 */
#include "iterator.h"
#include "kernel_socket.h"
#include "who.h"

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_NETLINK 16

static __always_inline bool is_stranger(const struct bm_bench *bench, struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	struct bm_bench *of;

	if (family != AF_INET && family != AF_INET6)
		return family != AF_UNIX && family != AF_NETLINK;
	of = bench_of(sk->sk_cgrp_data.cgroup);
	return !of || of->id != bench->id;
}

SEC("iter/task_file")
int bm_strangers(struct bpf_iter__task_file *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct bm_stranger found = {};
	const struct bm_bench *bench;
	struct socket *socket;
	struct sock *sk;

	if (!task || !file)
		return 0;
	bench = bench_of(task->cgroups->dfl_cgrp);
	if (!bench)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || !is_stranger(bench, sk))
		return 0;
	found.bench = bench->id;
	found.pid = task->tgid;
	found.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	bpf_seq_write(seq, &found, sizeof(found));
	return 0;
}

/*
 * And when connections are to be ended: which cgroups a Bench's sockets are of, whoever has them.
 * One below it that was removed has no name any more by which it could be found.
 */
SEC("iter/task_file")
int bm_socket_cgroups(struct bpf_iter__task_file *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct file *file = ctx->file;
	struct bm_socket_cgroup found = {};
	const struct bm_bench *bench;
	struct cgroup *cgroup;
	struct socket *socket;
	struct sock *sk;
	__u16 family;

	if (!file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk)
		return 0;
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (family != AF_INET && family != AF_INET6)
		return 0;
	cgroup = sk->sk_cgrp_data.cgroup;
	bench = cgroup ? bench_of(cgroup) : NULL;
	if (!bench)
		return 0;
	found.bench = bench->id;
	found.id = BPF_CORE_READ(cgroup, kn, id);
	bpf_seq_write(seq, &found, sizeof(found));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
