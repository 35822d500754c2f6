// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sysctls, at each read and write, also by a descriptor that was open before: the file rules ask at
 * the open. None is a Bench's to write, not even one of its own namespaces.
 */
#include "member.h"
#include "seal.h"
#include "subject.h"
#include "tells.h"

#define SYSCTL_NAME 128

struct parse {
	char name[SYSCTL_NAME]; /* kernel/osrelease */
	struct tells_walk walk;
	__u32 start; /* of the component in name. No count of its own: see kernfs.bpf.c */
	__u32 there;
};

static long parse_step(__u32 i, struct parse *parse)
{
	__u32 length = i - parse->start;
	char c;

	if (i >= SYSCTL_NAME)
		return 1;
	c = parse->name[i];
	if (c && c != '/') {
		if (length >= BM_TELLS_NAME - 1)
			return 1;
		parse->walk.key.name[length] = c;
		return 0;
	}
	if (!tells_step(&parse->walk))
		return 1;
	parse->there = !c || parse->walk.below;
	parse->start = i + 1;
	__builtin_memset(parse->walk.key.name, 0, BM_TELLS_NAME);
	return parse->there;
}

static __always_inline bool may_read(struct parse *parse)
{
	parse->walk.key.parent = BM_TELLS_PROC;
	__builtin_memcpy(parse->walk.key.name, "sys", 3);
	if (!tells_step(&parse->walk))
		return false;
	__builtin_memset(parse->walk.key.name, 0, BM_TELLS_NAME);
	bpf_loop(SYSCTL_NAME, parse_step, parse, 0);
	return parse->there;
}

SEC("cgroup/sysctl")
int bm_sysctl(struct bpf_sysctl *ctx)
{
	struct parse parse = {};
	bool named = bpf_sysctl_get_name(ctx, parse.name, sizeof(parse.name), 0) >= 0;
	__u32 bench;

	if (named && !ctx->write && may_read(&parse))
		return 1;
	bench = sealed_bench();
	/* The runtime sets what the container was made with. */
	if (bench && member_arrives(bpf_get_current_task(), bench))
		return 1;
	refuse(bench, BM_HOOK_SYSCTL, BM_RULE_TELLS, EPERM, 0, ctx->write, parse.name);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
