/* SPDX-License-Identifier: GPL-2.0-only */
/* A grant within another one's destination: mounted over the very object, at its own place. */
#ifndef BENCHMON_COVER_H
#define BENCHMON_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bench/target.h"

/* True when what is at dest in the Bench is (device, inode). No symlink is followed. */
bool bm_mount_is_at(const struct bm_target *target, const char *dest, uint64_t device,
		    uint64_t inode);

/* Attaches tree over it. Nothing is made, so nothing but the mount is to be taken away again. */
int bm_mount_cover(const struct bm_target *target, int tree, const char *dest, uint64_t device,
		   uint64_t inode, struct bm_error *err);

#endif
