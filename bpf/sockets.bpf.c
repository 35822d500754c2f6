// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connecting and sending: an errno at once, where the packet would only be dropped. What reaches
 * no hook here (raw, UDP-Lite, a socket from elsewhere) is decided in egress.
 */
#include "call.h"
#include "learn_net.h"
#include "listen.h"

/* Only answers leave by a port that is listened on: so by a socket that is bound to it, and by UDP,
 * whose sockets name whom they answer. What TCP answers by comes to no hook here. */
static __always_inline __u32 answers_rule(struct bpf_sock_addr *ctx, const struct bm_dest_key *key,
					  __u32 rule)
{
	struct bpf_sock *sk = ctx->sk;

	if (key->protocol != IPPROTO_UDP || !sk)
		return rule;
	return either_rule(rule, answer_rule(key, bpf_htons((__u16)sk->src_port)));
}

static __always_inline void submit(struct bm_event *event)
{
	if (!event)
		return;
	record_process(event);
	bpf_ringbuf_submit(event, 0);
}

static __always_inline int check(struct bm_dest_key *key, struct bpf_sock_addr *ctx, __u32 hook)
{
	struct bm_cgroup *cgroup = sealed_cgroup();
	bool within;
	__u32 rule;

	key->bench = cgroup->bench;
	key->port = (__u16)ctx->user_port;
	key->protocol = (__u8)ctx->protocol;
	rule = call_rule(cgroup, key, &within);
	if (rule != BM_RULE_NONE && cgroup->flags & BM_BENCH_LISTENS)
		rule = answers_rule(ctx, key, rule);
	rule = leave_rule(cgroup, key, within, rule);
	if (learns_net(cgroup, key, rule)) {
		submit(record_learned(key, hook));
		return egress_rule(cgroup) == BM_RULE_NONE;
	}
	if (rule != BM_RULE_NONE)
		submit(record_net(key, hook, rule, EPERM));
	else if (cgroup->flags & BM_BENCH_FIRST_USES && !within)
		submit(record_net_use(key, key, hook));
	return rule == BM_RULE_NONE;
}

static __always_inline int check4(struct bpf_sock_addr *ctx, __u32 hook)
{
	struct bm_dest_key key = {};

	key_v4(&key, ctx->user_ip4);
	return check(&key, ctx, hook);
}

static __always_inline int check6(struct bpf_sock_addr *ctx, __u32 hook)
{
	struct bm_dest_key key = {};
	__u32 words[4] = { ctx->user_ip6[0], ctx->user_ip6[1], ctx->user_ip6[2], ctx->user_ip6[3] };

	__builtin_memcpy(key.address, words, sizeof(words));
	return check(&key, ctx, hook);
}

SEC("cgroup/connect4")
int bm_connect4(struct bpf_sock_addr *ctx)
{
	return check4(ctx, BM_HOOK_CONNECT4);
}

SEC("cgroup/connect6")
int bm_connect6(struct bpf_sock_addr *ctx)
{
	return check6(ctx, BM_HOOK_CONNECT6);
}

SEC("cgroup/sendmsg4")
int bm_sendmsg4(struct bpf_sock_addr *ctx)
{
	return check4(ctx, BM_HOOK_SENDMSG4);
}

SEC("cgroup/sendmsg6")
int bm_sendmsg6(struct bpf_sock_addr *ctx)
{
	return check6(ctx, BM_HOOK_SENDMSG6);
}

char LICENSE[] SEC("license") = "GPL";
