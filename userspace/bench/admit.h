/* SPDX-License-Identifier: GPL-2.0-only */
/* Which containers may become Benches: the rules of attach. */
#ifndef BENCHMON_ADMIT_H
#define BENCHMON_ADMIT_H

#include "base/error.h"
#include "bench/cgroup.h"
#include "bench/target.h"

/*
 * Refuses, with the rule: a process of the host (mount or network namespace, no cgroup of its
 * own), a network namespace shared with tasks outside, a cgroup with tasks of other containers,
 * capabilities that undo the walls. cgroup is the container's.
 */
int bm_admit(const struct bm_target *target, const struct bm_cgroup_ref *cgroup,
	     struct bm_error *err);

/* The capabilities of that rule, as a mask: no payload gets them by any way. */
uint64_t bm_refused_capabilities(void);

#endif
