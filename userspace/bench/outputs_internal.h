/* SPDX-License-Identifier: GPL-2.0-only */
/* How the helper that looks at outputs answers. */
#ifndef BENCHMON_OUTPUTS_INTERNAL_H
#define BENCHMON_OUTPUTS_INTERNAL_H

#include "bench/outputs.h"

struct outputs_answer {
	struct bm_outputs_counts counts;
	struct bm_output *list; /* each owns its path */
	size_t count, room;
};

/* With a copy of path; NULL when out of memory. */
struct bm_output *outputs_add(struct outputs_answer *a, const char *path);
/* Sorts, and writes it into a memfd, which is the caller's. Frees what it has. */
int outputs_send(struct outputs_answer *a, int *ret_fd);
/* The sender may have been taken over by what it read: -EPROTO where that can't be an answer. */
int outputs_take(int fd, struct bm_outputs *ret);

#endif
