/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a Bench may read of procfs and sysfs beside its own processes: what libc, language runtimes
 * and builds ask of the machine they run on. The manual lists it; a test compares the two.
 */
#ifndef BENCHMON_KERNEL_TELLS_H
#define BENCHMON_KERNEL_TELLS_H

#include <stddef.h>

#include "bpf/abi.h"

struct bm_tells_path {
	const char *path; /* with its directories, whose lists may be read too */
	enum bm_tells_kind kind;
};

extern const struct bm_tells_path bm_tells_paths[];
extern const size_t bm_tells_count;

#endif
