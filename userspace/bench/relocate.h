/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Relocation: a pinned directory or file becomes a mount of its own in a running Bench, always
 * noexec, nosuid, nodev.
 */
#ifndef BENCHMON_RELOCATE_H
#define BENCHMON_RELOCATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bench/target.h"

/*
 * A detached, private clone of the mount that source (a real, not an O_PATH fd) lies in, rooted at
 * it; made inside the mount namespace of the process that opened it. Mounts below are not cloned:
 * -EBUSY if there are any, for what they cover would come to light.
 */
int bm_mount_clone(int source, pid_t peer, int *ret_tree, struct bm_error *err);

/*
 * noexec, nosuid, nodev, private; ro unless writable. map (or -1) is a user namespace: its ids
 * replace those of the file system. -EOPNOTSUPP: that file system can't be idmapped.
 */
int bm_mount_restrict(int tree, bool writable, int map, struct bm_error *err);

/*
 * Attaches tree at dest in target. dest must not exist; it and missing parents are made, as the
 * Bench's root, no symlink is followed. -EEXIST names what is there; -EPERM: its parent lies on a
 * mount of the host's. created: by benchmon, so that /work is none, and the root may be read-only
 * for the Bench. On failure what was made is removed.
 */
int bm_mount_place(const struct bm_target *target, int tree, bool directory, const char *dest,
		   bool created, struct bm_error *err);

/*
 * The same where a volume was: dest exists, is of the same type, and lies on a mount of the Bench's
 * own; it is only covered.
 */
int bm_mount_place_back(const struct bm_target *target, int tree, bool directory, const char *dest,
			struct bm_error *err);

/*
 * A directory's tree at dest, whose parent lies on one of the count mounts in own, the root's
 * among them: also while a runtime has yet to pivot there, and where the root is read-only. back:
 * dest is there, and is covered.
 */
int bm_mount_place_on(const struct bm_target *target, int tree, const char *dest,
		      const uint64_t *own, size_t count, bool back, struct bm_error *err);

/*
 * Detaches every mount of the Bench whose root is (device, inode), wherever the Bench has moved it
 * by renaming parents, and removes the mount point at dest (NULL: it was there before and stays).
 * 0 also when there is none.
 */
int bm_mount_take(const struct bm_target *target, const char *dest, uint64_t device, uint64_t inode,
		  struct bm_error *err);

/*
 * The mounts of the Bench whose root is (device, inode): at most max of their ids, *ret_fd (O_PATH,
 * the caller's; -1 when there is none) the object through the first. Returns how many there are.
 */
int bm_mount_of_object(const struct bm_target *target, uint64_t device, uint64_t inode,
		       uint64_t *ret_ids, size_t max, int *ret_fd, struct bm_error *err);

/* An absolute path without "..", ".", "//" or control bytes, not "/": -EINVAL says which. */
/* Of a mount that could not be put in its place: ENOSPC is the bound on mounts, and no disk. */
int bm_mount_failed(struct bm_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int bm_dest_check(const char *dest, struct bm_error *err);

#endif
