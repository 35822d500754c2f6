/* SPDX-License-Identifier: GPL-2.0-only */
/* Between held.c, held_watch.c and held_search.c. */
#ifndef BENCHMON_HELD_INTERNAL_H
#define BENCHMON_HELD_INTERNAL_H

#include "bench/held.h"
#include "bench/mounts.h"

#define INTERNAL_MAX 24
#define HELD_FOUND_MAX 65536

struct walk {
	const struct bm_held_scan *scan;
	struct bm_mounts mounts; /* the Bench's */
	dev_t internal[INTERNAL_MAX];
	size_t internal_count;
	dev_t anonymous; /* the one of eventfd, epoll, inotify, io_uring */
	struct bm_held_list found;
	pid_t pid;
	size_t plain; /* files that a task has open, and nothing more */
};

int held_add(struct walk *w, const struct bm_held *held);

/* A descriptor without a file: 1 when it is a way to files all the same, as *ret then says. */
int held_look_anonymous(struct walk *w, int dir, const char *name, struct bm_held *ret);

#endif
