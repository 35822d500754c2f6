/* SPDX-License-Identifier: GPL-2.0-only */
/* What a container that ran without walls may hold on to, and no hook meets again. */
#ifndef BENCHMON_POWERS_H
#define BENCHMON_POWERS_H

#include <sys/types.h>

#include "base/error.h"
#include "bench/cgroup.h"

/*
 * -EBUSY, rule "held": a task in the cgroup traces one outside of it, or has a device, a packet
 * socket, a program or table of bpf(2), or a perf event open or mapped. Its tasks must be frozen.
 */
int bm_powers_check(const struct bm_cgroup_ref *cgroup, struct bm_error *err);

#endif
