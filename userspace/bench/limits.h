/* SPDX-License-Identifier: GPL-2.0-only */
/* What a Bench that benchmon makes may use up. 0 is no limit. */
#ifndef BENCHMON_LIMITS_H
#define BENCHMON_LIMITS_H

#include <stdint.h>

#define BM_MEMORY_MIN (1u << 20)
/* A file system of less has no room for what it is. */
#define BM_DISK_MIN (16u << 20)
/* The scheduler takes no slice below a millisecond of its period of 100. */
#define BM_CPUS_MIN 10

struct bm_limits {
	uint64_t memory; /* bytes, swap included */
	uint64_t pids;   /* processes and threads */
	uint64_t cpus;   /* thousandths of one CPU's time */
	uint64_t disk;   /* bytes: what it writes to its root and to /work */
};

#endif
