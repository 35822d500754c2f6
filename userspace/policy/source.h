/* SPDX-License-Identifier: GPL-2.0-only */
/* What may become an object: a directory or file as the daemon sees it, not as it is called. */
#ifndef BENCHMON_SOURCE_H
#define BENCHMON_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct bm_source {
	char path[PATH_MAX]; /* resolved, in the root of the process that opened it */
	bool directory;
	uid_t uid;
	gid_t gid;
	mode_t mode;
	uint64_t size, device, inode;
	const char *fstype; /* static */
};

/*
 * Looks at fd. -EPERM with the rule for what is never granted: an O_PATH fd (proves no access),
 * anything but a directory or regular file, file systems that are views of the kernel, the root
 * directory, and benchmon's own files. writable also needs an fd that proves it: see uid.
 */
int bm_source_look(int fd, bool writable, uid_t caller, struct bm_source *ret,
		   struct bm_error *err);

#endif
