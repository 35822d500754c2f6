/* SPDX-License-Identifier: GPL-2.0-only */
/* What every fuzz target is: one function, and what must hold whatever it is given. */
#ifndef BENCHMON_FUZZ_MUST_H
#define BENCHMON_FUZZ_MUST_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			__builtin_trap();                                                          \
	} while (0)

#endif
