// SPDX-License-Identifier: GPL-2.0-only
/* Watches and rings: descriptors without a file that lead to files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/above.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "bench/held_internal.h"

#define KERNEL_MINOR_BITS 20
#define FDINFO_MAX (64u << 20) /* an editor watches tens of thousands of files */

union handle {
	struct file_handle head;
	unsigned char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static const char *value(const char *line, const char *key)
{
	const char *found = strstr(line, key);

	return found ? found + strlen(key) : NULL;
}

/* "fhandle-bytes:8 fhandle-type:1 f_handle:0200000000000000", all in hexadecimal. */
static bool parse_handle(const char *line, union handle *ret)
{
	const char *bytes = value(line, "fhandle-bytes:"), *type = value(line, "fhandle-type:"),
		   *hex = value(line, "f_handle:");

	if (!bytes || !type || !hex)
		return false;
	ret->head.handle_bytes = (unsigned)strtoul(bytes, NULL, 16);
	ret->head.handle_type = (int)strtol(type, NULL, 16);
	if (ret->head.handle_bytes > MAX_HANDLE_SZ ||
	    strspn(hex, "0123456789abcdef") < ret->head.handle_bytes * 2)
		return false;
	for (unsigned i = 0; i < ret->head.handle_bytes; i++) {
		char pair[3] = { hex[i * 2], hex[i * 2 + 1] };

		ret->space[sizeof(struct file_handle) + i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return true;
}

static bool is_object(void *ctx, int fd, const struct stat *st)
{
	const struct bm_held_object *object = ctx;

	(void)fd;
	return st->st_ino == object->inode && st->st_dev == object->device;
}

/* The name that the kernel has for it must lead there from the object. */
static bool file_lies_in(int fd, const struct stat *st, const struct bm_held_object *object)
{
	char link[32], path[PATH_MAX];
	struct stat found;
	ssize_t len;

	if (st->st_ino == object->inode)
		return true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 1)
		return true;
	path[len] = '\0';
	return fstatat(object->fd, path + 1, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
	       found.st_ino == st->st_ino;
}

/* open_by_handle_at() takes no O_PATH for where to look. */
static int open_handle(int object, union handle *handle)
{
	char link[32];
	autoclose at = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", object);
	at = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return at < 0 ? -1 : open_by_handle_at(at, &handle->head, O_PATH | O_CLOEXEC);
}

/* What can't be told counts as in it. */
static bool watches(const char *line, const struct bm_held_object *object)
{
	const char *sdev = value(line, "sdev:");
	unsigned long device = sdev ? strtoul(sdev, NULL, 16) : 0;
	union handle handle = {};
	struct stat st;
	autoclose fd = -1;
	int up;

	if (makedev(device >> KERNEL_MINOR_BITS, device & ((1u << KERNEL_MINOR_BITS) - 1)) !=
	    object->superblock)
		return false;
	if (object->fd < 0 || !parse_handle(line, &handle))
		return true;
	fd = open_handle(object->fd, &handle);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno != ESTALE; /* it is no more */
	if (!S_ISDIR(st.st_mode))
		return file_lies_in(fd, &st, object);
	/* ENOENT: no way up leads to the mount's root, which is the object. */
	up = bm_any_above(fd, is_object, (void *)(uintptr_t)object);
	return up != 0 && up != -ENOENT;
}

static bool watches_foreign(const char *line, const struct bm_foreign_list *foreign)
{
	for (size_t i = 0; foreign && i < foreign->count; i++) {
		struct bm_held_object object = { .fd = foreign->list[i].fd };
		struct stat st;

		if (fstat(object.fd, &st) < 0)
			return true;
		object.device = st.st_dev;
		object.inode = st.st_ino;
		object.superblock = foreign->list[i].device;
		if (watches(line, &object))
			return true;
	}
	return false;
}

static bool any_watch(char *info, const struct bm_held_scan *scan)
{
	char *line;

	while ((line = strsep(&info, "\n"))) {
		if (strncmp(line, "inotify ", 8) && strncmp(line, "fanotify ino", 12))
			continue;
		if ((scan->object.inode && watches(line, &scan->object)) ||
		    watches_foreign(line, scan->foreign))
			return true;
	}
	return false;
}

int held_look_anonymous(struct walk *w, int dir, const char *name, struct bm_held *ret)
{
	autofree char *info = NULL;
	char link[64], path[64];
	ssize_t len = readlinkat(dir, name, link, sizeof(link) - 1);
	bool ring;
	int r;

	if (len < 0 || ret->fd < 0)
		return 0;
	link[len] = '\0';
	ring = !strcmp(link, "anon_inode:[io_uring]");
	if (!ring && strcmp(link, "anon_inode:inotify") && strcmp(link, "anon_inode:[fanotify]"))
		return 0;
	snprintf(path, sizeof(path), "../fdinfo/%s", name);
	r = bm_read_file(dir, path, FDINFO_MAX, &info, NULL);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	snprintf(ret->path, sizeof(ret->path), "%s", link);
	if (ring) {
		ret->kind = BM_HELD_RING;
		return 1;
	}
	ret->kind = BM_HELD_WATCH;
	return any_watch(info, w->scan);
}
