// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which socket options a Bench may set. The cgroup program is not asked when a 32-bit system call
 * is made (net/socket.c), and goes by whose the socket is; the LSM's goes by who asks.
 */
#include <linux/errno.h>

#include "options.h"
#include "seal.h"
#include "subject.h"

#define PAGE_SIZE 4096

static __always_inline void record_option(__u32 bench, __u32 rule, int level, int option)
{
	struct bm_event *event = record(bench, BM_HOOK_SETSOCKOPT, BM_DENY, rule, EPERM);

	if (!event)
		return;
	record_process(event);
	__builtin_memset(&event->socket, 0, sizeof(event->socket));
	event->socket.level = level;
	event->socket.option = option;
	bpf_ringbuf_submit(event, 0);
}

SEC("cgroup/setsockopt")
int bm_setsockopt(struct bpf_sockopt *ctx)
{
	struct bm_cgroup *cgroup = sealed_cgroup();
	int level = ctx->level, option = ctx->optname;
	__u32 rule = option_rule(level, option, cgroup->flags);

	if (rule == BM_RULE_NONE) {
		/* The kernel shows one page; a longer value passes only when it is left alone. */
		if (ctx->optlen > PAGE_SIZE)
			ctx->optlen = 0;
		return 1;
	}
	record_option(cgroup->bench, rule, level, option);
	return 0;
}

struct socket;

SEC("lsm/socket_setsockopt")
int BPF_PROG(bm_option, struct socket *socket, int level, int option, int ret)
{
	struct bm_bench *bench;
	__u32 rule;

	/* The least that can be asked for: most others' calls end here. */
	if (ret || option_rule(level, option, BM_BENCH_SHARED_NET) == BM_RULE_NONE)
		return ret;
	bench = walled_bench();
	if (!bench)
		return 0;
	rule = option_rule(level, option, bench->flags);
	if (rule == BM_RULE_NONE)
		return 0;
	record_option(bench->id, rule, level, option);
	return -EPERM;
}

char LICENSE[] SEC("license") = "GPL";
