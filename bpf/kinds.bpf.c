// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kinds of sockets a Bench may make, and which options it may set. UDP-Lite, ping, raw, SCTP
 * and DCCP meet no connect or sendmsg hook; IP options and routing headers send a packet by another
 * hop than its destination. Packets are judged all the same: this says so at once, and records it.
 */
#include <linux/in.h>

#include "seal.h"

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_MPTCP_ 262
#define SOL_SOCKET 1
#define SO_BINDTODEVICE 25
#define SO_BINDTOIFINDEX 62
#define SOL_IP 0
#define IP_OPTIONS_ 4
#define SOL_IPV6 41
#define IPV6_2292PKTOPTIONS 6
#define IPV6_HOPOPTS_ 54
#define IPV6_RTHDRDSTOPTS_ 55
#define IPV6_RTHDR_ 57
#define IPV6_DSTOPTS_ 59
#define IP_ADD_MEMBERSHIP_ 35
#define IP_ADD_SOURCE_MEMBERSHIP_ 39
#define IPV6_ADD_MEMBERSHIP_ 20
#define IPV6_JOIN_ANYCAST_ 27
#define MCAST_JOIN_GROUP_ 42
#define MCAST_JOIN_SOURCE_GROUP_ 46
#define PAGE_SIZE 4096

SEC("cgroup/sock_create")
int bm_socket(struct bpf_sock *ctx)
{
	__u32 bench = sealed_bench(), rule = BM_RULE_SOCKET_KIND;
	struct bm_event *event;

	if (!bench)
		rule = BM_RULE_UNKNOWN_BENCH;
	else if (ctx->protocol == IPPROTO_TCP || ctx->protocol == IPPROTO_UDP ||
		 ctx->protocol == IPPROTO_MPTCP_)
		return 1;
	event = record(bench, BM_HOOK_SOCKET, BM_DENY, rule, EPERM);
	if (event) {
		record_current(event);
		__builtin_memset(&event->socket, 0, sizeof(event->socket));
		event->socket.family = ctx->family;
		event->socket.type = ctx->type;
		event->socket.protocol = ctx->protocol;
		bpf_ringbuf_submit(event, 0);
	}
	return 0;
}

/*
 * The reports that make a member of a group go to an address of the Bench's choice, and belong to
 * no socket: no cgroup program and no nft match of one would see them.
 */
static __always_inline bool joins_group(__u32 level, __u32 option)
{
	if (option == MCAST_JOIN_GROUP_ || option == MCAST_JOIN_SOURCE_GROUP_)
		return level == SOL_IP || level == SOL_IPV6;
	if (level == SOL_IP)
		return option == IP_ADD_MEMBERSHIP_ || option == IP_ADD_SOURCE_MEMBERSHIP_;
	return level == SOL_IPV6 &&
	       (option == IPV6_ADD_MEMBERSHIP_ || option == IPV6_JOIN_ANYCAST_);
}

static __always_inline bool leads_elsewhere(__u32 level, __u32 option)
{
	if (level == SOL_IP)
		return option == IP_OPTIONS_;
	if (level == SOL_IPV6)
		return option == IPV6_2292PKTOPTIONS || option == IPV6_HOPOPTS_ ||
		       option == IPV6_RTHDRDSTOPTS_ || option == IPV6_RTHDR_ ||
		       option == IPV6_DSTOPTS_;
	return level == SOL_SOCKET && (option == SO_BINDTODEVICE || option == SO_BINDTOIFINDEX);
}

SEC("cgroup/setsockopt")
int bm_setsockopt(struct bpf_sockopt *ctx)
{
	__u32 level = ctx->level, option = ctx->optname, bench;
	struct bm_event *event;

	if (!leads_elsewhere(level, option) && !joins_group(level, option)) {
		/* The kernel shows one page; a longer value passes only when it is left alone. */
		if (ctx->optlen > PAGE_SIZE)
			ctx->optlen = 0;
		return 1;
	}
	bench = sealed_bench();
	event = record(bench, BM_HOOK_SETSOCKOPT, BM_DENY, BM_RULE_SOCKET_OPTION, EPERM);
	if (event) {
		record_current(event);
		__builtin_memset(&event->socket, 0, sizeof(event->socket));
		event->socket.level = level;
		event->socket.option = option;
		bpf_ringbuf_submit(event, 0);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
