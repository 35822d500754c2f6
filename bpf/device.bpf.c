// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: what holds nothing of the host, to make and to open. The kernel asks before any file
 * rule, also for a node that lay on a rootfs when the Bench came to be.
 */
#include "member.h"
#include "seal.h"
#include "subject.h"

#define MEMORY_MAJOR 1
#define MEMORY_NULL 3
#define MEMORY_ZERO 5
#define MEMORY_FULL 7
#define MEMORY_RANDOM 8
#define MEMORY_URANDOM 9
#define TTY_MAJOR 5
#define TTY_OWN 0
#define TTY_PTMX 2
#define PTS_FIRST 136
#define PTS_LAST 143

static __always_inline bool is_harmless(__u32 type, __u32 major, __u32 minor)
{
	if (type != BPF_DEVCG_DEV_CHAR)
		return false;
	if (major == MEMORY_MAJOR)
		return minor == MEMORY_NULL || minor == MEMORY_ZERO || minor == MEMORY_FULL ||
		       minor == MEMORY_RANDOM || minor == MEMORY_URANDOM;
	if (major == TTY_MAJOR)
		return minor == TTY_OWN || minor == TTY_PTMX;
	return major >= PTS_FIRST && major <= PTS_LAST;
}

/* An arrival makes the container's nodes, whichever it was given; what opens them is the payload.
 */
SEC("cgroup/dev")
int bm_device(struct bpf_cgroup_dev_ctx *ctx)
{
	__u32 access = ctx->access_type, major = ctx->major, minor = ctx->minor, bench;

	if (is_harmless(access & 0xffff, major, minor))
		return 1;
	bench = sealed_bench();
	if (bench && member_arrives(bpf_get_current_task(), bench))
		return 1;
	refuse(bench, BM_HOOK_DEVICE, BM_RULE_DEVICE, EPERM, major << 20 | minor, access, NULL);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
