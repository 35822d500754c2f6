/* SPDX-License-Identifier: GPL-2.0-only */
/* Which containers may become Benches: the rules of attach. */
#ifndef BENCHMON_ADMIT_H
#define BENCHMON_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bench/cgroup.h"
#include "bench/target.h"

/*
 * Refuses, with the rule, what can't be walled in: a process of the host (its mount namespace, no
 * cgroup of its own), a cgroup with tasks of other mount namespaces, and, where the container could
 * have made another root for itself, one of which no runtime says what it was (root_known). cgroup
 * is the container's. Capabilities and the other namespaces of the host are no reason.
 */
int bm_admit(const struct bm_target *target, const struct bm_cgroup_ref *cgroup, bool root_known,
	     struct bm_error *err);

/* Which of its namespaces (1 << BM_NS_PID, NET, UTS, IPC) are also those of tasks outside of its
 * cgroup: the host's, or another container's. */
int bm_namespaces_shared(const struct bm_target *target, const struct bm_cgroup_ref *cgroup,
			 uint32_t *ret, struct bm_error *err);

#endif
