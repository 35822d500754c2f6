/* SPDX-License-Identifier: GPL-2.0-only */
/* Bounds that are met are told before anything is made that would have to be undone. */
#ifndef BENCHMON_ROOM_H
#define BENCHMON_ROOM_H

#include "gatekeeperd/daemon.h"

/* What the daemon holds of a Bench: its cgroup, namespaces, root, init, ids of its mounts. */
#define ROOM_DESCRIPTORS 16

/* -ENOSPC, rule "limits": no id, no place in the kernel's tables, or no descriptors. */
int room_for_bench(const struct daemon *d, struct bm_error *err);

#endif
