/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/PID/mountinfo, taken apart. */
#ifndef BENCHMON_MOUNTS_H
#define BENCHMON_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct bm_mount {
	uint64_t id, parent;
	uint32_t major, minor;
	bool ro, noexec;
	const char *root;   /* within its file system */
	const char *target; /* as seen from the root of the process */
	const char *fstype;
	const char *options; /* of the file system: lowerdir=... */
};

struct bm_mounts {
	struct bm_mount *list;
	size_t count;
	char *text; /* what the strings point into */
};

void bm_mounts_done(struct bm_mounts *mounts);
#define automounts __attribute__((cleanup(bm_mounts_done))) struct bm_mounts

int bm_mounts_read(pid_t pid, struct bm_mounts *ret, struct bm_error *err);
/* Takes over text (allocated). -EBADMSG where a line is not as the kernel writes it. */
int bm_mounts_parse(char *text, struct bm_mounts *ret);
/*
 * O_PATH of what lies at the mount's path below root, or -errno; no symlink is followed. The path
 * may be longer than any system call takes: who renames its parents makes it so.
 */
int bm_mount_open(int root, const struct bm_mount *m);
/* NULL when there is none of that id. */
const struct bm_mount *bm_mount_find(const struct bm_mounts *mounts, uint64_t id);
/* Leaves those that lie at root or below it, and names them as from there. */
void bm_mounts_below(struct bm_mounts *mounts, const char *root);
/* The value of key in a comma-separated option string into buf, unescaped; false if absent. */
bool bm_mount_option(const char *options, const char *key, char *buf, size_t size);
/* The next one of a "lowerdir=" value, in place; NULL at the end. */
char *bm_mount_layer(char **rest);

#endif
