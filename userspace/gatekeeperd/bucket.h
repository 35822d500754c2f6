/* SPDX-License-Identifier: GPL-2.0-only */
/* How often somebody may: so many at once, then one each so often. */
#ifndef BENCHMON_BUCKET_H
#define BENCHMON_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

/* Filled with zeros it is full. */
struct bucket {
	uint64_t full_ns; /* when it will be full again */
};

/* One that has not been touched for that long knows nothing any more. */
static inline bool bucket_full(const struct bucket *b, uint64_t now_ns)
{
	return b->full_ns <= now_ns;
}

/* Takes one; false when there is none, and then nothing has changed. */
static inline bool bucket_take(struct bucket *b, uint64_t now_ns, unsigned size, uint64_t each_ns)
{
	uint64_t from = bucket_full(b, now_ns) ? now_ns : b->full_ns;

	if (from - now_ns > (size - 1) * each_ns)
		return false;
	b->full_ns = from + each_ns;
	return true;
}

#endif
