/* SPDX-License-Identifier: GPL-2.0-only */
/* Bounds that are met are told before anything is made that would have to be undone. */
#ifndef BENCHMON_ROOM_H
#define BENCHMON_ROOM_H

#include "gatekeeperd/daemon.h"

/* What the daemon holds of a Bench: its cgroup, namespaces, root, init, ids of its mounts. */
#define ROOM_DESCRIPTORS 16

/*
 * Of uid's. -ENOSPC, rule "limits": no place in the kernel's tables, or no descriptors; rule
 * "user-limits": that user has as many as one may have. The last places are root's, who has to be
 * able to put things right.
 */
int room_for_bench(const struct daemon *d, uid_t uid, struct bm_error *err);
/* One more of this Bench; -ENOSPC, rule "user-limits": its owner has as many as one may have. */
int room_for_grant(const struct daemon *d, const struct bench *bench, struct bm_error *err);

#endif
