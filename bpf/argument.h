/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_BPF_ARGUMENT_H
#define BENCHMON_BPF_ARGUMENT_H

#include "kernel.h"

enum argument { ARGUMENT_NULL, ARGUMENT_THERE, ARGUMENT_UNKNOWN };

/*
 * Whether a hook's first argument is NULL, as mmap_file's is for memory without a file. 6.12 takes
 * an argument for never NULL, drops the test for it and follows it: the kernel dies. So a copy of
 * it is tested.
 */
static __always_inline enum argument first_argument(const void *ctx)
{
	unsigned long address = 0;

	if (bpf_probe_read_kernel(&address, sizeof(address), ctx) < 0)
		return ARGUMENT_UNKNOWN;
	return address ? ARGUMENT_THERE : ARGUMENT_NULL;
}

#endif
