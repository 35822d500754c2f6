/* SPDX-License-Identifier: GPL-2.0-only */
/* Which containers may become Benches: the rules of attach. */
#ifndef BENCHMON_ADMIT_H
#define BENCHMON_ADMIT_H

#include "base/error.h"
#include "bench/cgroup.h"

/*
 * Refuses, with the rule: a process of the host (mount or network namespace, no cgroup of its
 * own), a network namespace shared with tasks outside, a cgroup with tasks of other containers,
 * capabilities that undo the walls. cgroup is the container's.
 */
int bm_admit(pid_t pid, const struct bm_cgroup_ref *cgroup, struct bm_error *err);

#endif
