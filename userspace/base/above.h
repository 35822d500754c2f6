/* SPDX-License-Identifier: GPL-2.0-only */
/* The way up from a directory, by what it is and not by what it is called. */
#ifndef BENCHMON_ABOVE_H
#define BENCHMON_ABOVE_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * 1 when is(), which gets an fd of it, says so of dir (which may be O_PATH, and stays the caller's)
 * or of a directory above it, as far as its mounts lead; 0 when of none; -errno when that can't be
 * told.
 */
int bm_any_above(int dir, bool (*is)(void *ctx, int fd, const struct stat *st), void *ctx);

#endif
