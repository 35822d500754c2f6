/* SPDX-License-Identifier: GPL-2.0-only */
/* What a path names in a Bench: found there as its root is, never on the host. */
#ifndef BENCHMON_NAMED_H
#define BENCHMON_NAMED_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct bm_target;

struct bm_named {
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint64_t mount, inode;
	uint32_t major, minor; /* of its file system, as mountinfo has it */
	char path[PATH_MAX];   /* from the namespace's root, no link on the way; "": not known */
};

/*
 * Opens path (absolute, symbolic links followed within the Bench) for nothing but to name it, in a
 * helper in the Bench's mount and network namespaces, and calls ask() there with that descriptor.
 * -ENOENT: nothing of that name is there, and that is no error (err stays empty). -EXDEV: the way
 * leads through a link of procfs that is no path.
 */
int bm_named(const struct bm_target *target, const char *path, void (*ask)(int fd, uint64_t cookie),
	     uint64_t cookie, struct bm_named *ret, struct bm_error *err);

#endif
