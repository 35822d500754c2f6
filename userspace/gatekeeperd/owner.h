/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose a container is: by its cgroup and its user namespace, both held, not by what it says. */
#ifndef BENCHMON_GATEKEEPERD_OWNER_H
#define BENCHMON_GATEKEEPERD_OWNER_H

#include <sys/types.h>

#include "base/error.h"
#include "bench/cgroup.h"
#include "bench/target.h"

/*
 * -EPERM, rule "own-container", but for root: the cgroup is not uid's, or its init, process pid, is
 * in a user namespace that is not. Nothing is done to it.
 */
int container_is_of(pid_t pid, const struct bm_cgroup_ref *cgroup, uid_t uid, struct bm_error *err);
/* The same of what is held of it. */
int target_is_of(const struct bm_target *target, const struct bm_cgroup_ref *cgroup, uid_t uid,
		 struct bm_error *err);

#endif
