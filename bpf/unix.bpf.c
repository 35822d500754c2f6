// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets: which kinds there are, and whom a unix one leads to. A socket's cgroup is that of who
 * made it, whoever holds it now, so a peer that came by a name, an abstract name (which has no
 * file) or in a message is told apart the same way.
 */
#include <linux/errno.h>
#include <linux/in.h>

#include "kernel_socket.h"
#include "subject.h"

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_NETLINK 16
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define NETLINK_ROUTE 0
#define IPPROTO_MPTCP_ 262

static __always_inline int check_peer(struct bm_bench *bench, struct sock *peer)
{
	struct bm_bench *other = peer ? bench_of(peer->sk_cgrp_data.cgroup) : NULL;

	if (other && other->id == bench->id)
		return 0;
	return refuse(bench->id, BM_HOOK_UNIX, BM_RULE_OUTSIDE, EACCES, 0, 0, NULL);
}

/*
 * But for the Bench's door. The mark is the listening socket's own: no name leads to it, nothing in
 * a Bench can set it, and it ends with the socket. Without a daemon there is none.
 */
SEC("lsm/unix_stream_connect")
int BPF_PROG(bm_unix_connect, struct sock *sock, struct sock *peer, struct sock *accepted)
{
	struct bm_bench *bench = walled_bench();
	struct bm_door *door;

	if (!bench)
		return 0;
	door = bpf_sk_storage_get(&doors, peer, NULL, 0);
	return door && door->bench == bench->id ? 0 : check_peer(bench, peer);
}

/* Datagrams: connecting, and each that is sent. */
SEC("lsm/unix_may_send")
int BPF_PROG(bm_unix_send, struct socket *sock, struct socket *peer)
{
	struct bm_bench *bench = walled_bench();

	return bench ? check_peer(bench, peer->sk) : 0;
}

/* TCP, UDP and MPTCP, which connects as TCP does; the cgroup program says the same of each. */
static __always_inline int error_of(int family, int type, int protocol)
{
	type &= 0xf;
	if (family == AF_UNIX)
		return 0;
	/* Programs that only want to log (libaudit) take this for a kernel without, and go on. */
	if (family == AF_NETLINK)
		return protocol == NETLINK_ROUTE ? 0 : EPROTONOSUPPORT;
	if (family != AF_INET && family != AF_INET6)
		return EAFNOSUPPORT;
	if (type == SOCK_STREAM)
		return !protocol || protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP_ ? 0
											  : EPERM;
	return type == SOCK_DGRAM && (!protocol || protocol == IPPROTO_UDP) ? 0 : EPERM;
}

/*
 * Only in a Bench that has these flags. 6.12 wants to see what is returned: error is a constant
 * wherever this is inlined.
 */
static __always_inline int refuse_kind(int family, int type, int protocol, __u32 flags, __u32 rule,
				       int error)
{
	struct bm_bench *bench = walled_bench();
	struct bm_event *event;

	if (!bench || flags & ~bench->flags)
		return 0;
	event = record(bench->id, BM_HOOK_SOCKET, BM_DENY, rule, error);
	if (!event)
		return -error;
	record_process(event);
	__builtin_memset(&event->socket, 0, sizeof(event->socket));
	event->socket.family = family;
	event->socket.type = type;
	event->socket.protocol = protocol;
	bpf_ringbuf_submit(event, 0);
	return -error;
}

SEC("lsm/socket_create")
int BPF_PROG(bm_new_socket, int family, int type, int protocol, int kernel)
{
	switch (kernel ? 0 : error_of(family, type, protocol)) {
	case EPERM:
		return refuse_kind(family, type, protocol, 0, BM_RULE_SOCKET_KIND, EPERM);
	case EPROTONOSUPPORT:
		return refuse_kind(family, type, protocol, 0, BM_RULE_SOCKET_KIND, EPROTONOSUPPORT);
	case EAFNOSUPPORT:
		return refuse_kind(family, type, protocol, 0, BM_RULE_SOCKET_KIND, EAFNOSUPPORT);
	default:
		/* Netlink for routes lists the links, addresses and neighbours there are, and
		 * reports what changes: of a shared namespace, others'.
		 */
		return family == AF_NETLINK && !kernel
			       ? refuse_kind(family, type, protocol, BM_BENCH_SHARED_NET,
					     BM_RULE_SHARED, EPROTONOSUPPORT)
			       : 0;
	}
}

char LICENSE[] SEC("license") = "GPL";
