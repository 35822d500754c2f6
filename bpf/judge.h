/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_BPF_JUDGE_H
#define BENCHMON_BPF_JUDGE_H

#include "kernel.h"

static __always_inline bool expired(__u64 expiry_ns)
{
	return expiry_ns && bpf_ktime_get_boot_ns() >= expiry_ns;
}

/*
 * A host grant never has x, so that its lack is the noexec rule and not a matter of asking. A
 * secret is refused as long as nobody has asked never_both().
 */
static __always_inline __u32 judge(const struct bm_grant *grant, __u32 wanted)
{
	if (!grant->rights)
		return BM_RULE_REVOKED;
	if (expired(grant->expiry_ns))
		return BM_RULE_EXPIRED;
	if (!(wanted & ~grant->rights))
		return grant->rights & BM_SECRET ? BM_RULE_NEVER_BOTH : BM_RULE_NONE;
	if (wanted & ~grant->rights & BM_X)
		return BM_RULE_NOEXEC;
	return grant->rights & BM_LEARN ? BM_RULE_LEARN : BM_RULE_RIGHTS;
}

#endif
