/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where what the kernel names by its file system (device, path from its root) lies in a mount
 * namespace: for people, who know it by that name. Nothing is decided by it.
 */
#ifndef BENCHMON_PLACES_H
#define BENCHMON_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/mounts.h"

struct places {
	int fd; /* mountinfo of that namespace; below 0: none */
	bool read;
	struct bm_mounts mounts;
};

#define PLACES_NONE ((struct places){ .fd = -1 })

/* Takes fd over. */
void places_watch(struct places *places, int fd);
void places_close(struct places *places);
/*
 * path, escaped as an event has it, as from the root of that namespace; whole: by what has most of
 * its file system, else by what has least. -ENOENT: it is nowhere there.
 */
int places_find(struct places *places, uint32_t major, uint32_t minor, const char *path, bool whole,
		char *buf, size_t size);

#endif
