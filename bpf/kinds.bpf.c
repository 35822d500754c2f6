// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kinds of sockets a Bench may make. UDP-Lite, ping, raw, SCTP and DCCP meet no connect or
 * sendmsg hook. Packets are judged all the same: this says so at once, and records it.
 */
#include <linux/in.h>

#include "seal.h"

#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define IPPROTO_MPTCP_ 262

/* A raw socket may well be of protocol TCP. */
static __always_inline bool is_known(const struct bpf_sock *sk)
{
	if (sk->type == SOCK_STREAM)
		return sk->protocol == IPPROTO_TCP || sk->protocol == IPPROTO_MPTCP_;
	return sk->type == SOCK_DGRAM && sk->protocol == IPPROTO_UDP;
}

SEC("cgroup/sock_create")
int bm_socket(struct bpf_sock *ctx)
{
	__u32 bench = sealed_bench(), rule = BM_RULE_SOCKET_KIND;
	struct bm_event *event;

	if (!bench)
		rule = BM_RULE_UNKNOWN_BENCH;
	else if (is_known(ctx))
		return 1;
	event = record(bench, BM_HOOK_SOCKET, BM_DENY, rule, EPERM);
	if (event) {
		record_process(event);
		__builtin_memset(&event->socket, 0, sizeof(event->socket));
		event->socket.family = ctx->family;
		event->socket.type = ctx->type;
		event->socket.protocol = ctx->protocol;
		bpf_ringbuf_submit(event, 0);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
