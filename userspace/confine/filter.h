/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System call filters of our own processes. One that allows names what is needed; the rest does
 * not exist (ENOSYS: libc then takes an older call, and where there is none the step fails), but
 * for what only an intruder calls: that ends the process. The end of the daemon opens nothing.
 */
#ifndef BENCHMON_FILTER_H
#define BENCHMON_FILTER_H

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* One of several values of the first argument. */
struct bm_first_argument {
	const char *call;
	uint64_t value;
};

struct bm_filter {
	const char *const *calls[8]; /* lists, each NULL-terminated */
	const struct bm_first_argument *arguments;
	size_t argument_count;
};

/* Puts it, and no_new_privs, on the calling task. Another may be put on top, and only narrows. */
int bm_filter_allow(const struct bm_filter *filter, struct bm_error *err);
/* The same the other way round, for a task that executes others' programs: these are EPERM. */
int bm_filter_deny(const char *const *calls, struct bm_error *err);

/*
 * For a filter of one's own: each of these calls, whatever its arguments. -ENOSYS for a name that
 * has no number; one that is in the filter already is no error.
 */
int bm_filter_add(scmp_filter_ctx ctx, uint32_t action, const char *const *names);
/* The same calls by their 32-bit entries: what a task executes may be of 32 bits. */
int bm_filter_add_32bit(scmp_filter_ctx ctx);

#endif
