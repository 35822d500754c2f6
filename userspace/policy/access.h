/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether somebody may open an object themselves, whoever has opened it. */
#ifndef BENCHMON_ACCESS_H
#define BENCHMON_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct bm_caller {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t group_count;
};

/*
 * An fd proves that somebody could open it: perhaps a set-user-ID helper, who passed it on, or the
 * caller while it had more than it has now. Here the kernel is asked again, by a helper that has
 * the caller's ids and groups as they are outside of user namespaces, and no capability. Of a
 * directory that it may be read and searched. -EACCES, rule "own-access". Root is not asked.
 */
int bm_access_check(int fd, const struct bm_caller *caller, bool writable, struct bm_error *err);

#endif
