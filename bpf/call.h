/* SPDX-License-Identifier: GPL-2.0-only */
/* What connecting and sending come to: for the hooks, and for who asks why. */
#ifndef BENCHMON_BPF_CALL_H
#define BENCHMON_BPF_CALL_H

#include "seal.h"

static __always_inline __u32 call_rule(const struct bm_cgroup *cgroup,
				       const struct bm_dest_key *key, bool *ret_within)
{
	*ret_within = own_loopback(cgroup) && is_loopback(key);
	return *ret_within ? BM_RULE_NONE : seal_rule(key);
}

/* What may be reached may not be left for by who has a secret. */
static __always_inline __u32 leave_rule(const struct bm_cgroup *cgroup,
					const struct bm_dest_key *key, bool within, __u32 rule)
{
	return rule == BM_RULE_NONE && !within && !is_endpoint(key) ? egress_rule(cgroup) : rule;
}

#endif
