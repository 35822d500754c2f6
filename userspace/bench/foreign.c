// SPDX-License-Identifier: GPL-2.0-only
#include "bench/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "confine/confine.h"

#define MOUNTINFO_MAX (16u << 20)

static void foreign_close(struct bm_foreign *f)
{
	bm_close(f->fd);
	free(f->path);
	free(f->below);
	free(f->source);
}

void bm_foreign_done(struct bm_foreign_list *foreign)
{
	for (size_t i = 0; i < foreign->count; i++)
		foreign_close(&foreign->list[i]);
	free(foreign->list);
	*foreign = (struct bm_foreign_list){};
}

bool bm_foreign_source(const struct bm_mount *m, const struct bm_mounts *host, char *buf,
		       size_t size)
{
	const struct bm_mount *best = NULL;
	size_t length = 0;

	for (size_t i = 0; i < host->count; i++) {
		const struct bm_mount *h = &host->list[i];
		/* "/" leads to everything: compared as "". */
		size_t len = strcmp(h->root, "/") ? strlen(h->root) : 0;

		if (h->major != m->major || h->minor != m->minor ||
		    strncmp(m->root, h->root, len) || (m->root[len] && m->root[len] != '/') ||
		    (best && len < length))
			continue;
		best = h;
		length = len;
	}
	if (!best)
		return false;
	/* One of them is "/", or both are. */
	if (!m->root[length] || !strcmp(m->root + length, "/"))
		return (size_t)snprintf(buf, size, "%s", best->target) < size;
	return (size_t)snprintf(buf, size, "%s%s", strcmp(best->target, "/") ? best->target : "",
				m->root + length) < size;
}

int bm_foreign_add(struct bm_foreign_list *foreign, const struct bm_mount *m, mode_t mode,
		   const struct bm_mounts *mounts, const struct bm_mounts *host, int fd)
{
	struct bm_foreign f = { .id = m->id,
				.device = makedev(m->major, m->minor),
				.mode = mode,
				.ro = m->ro,
				.fd = fd },
			  *grown;
	char source[PATH_MAX];

	snprintf(f.fstype, sizeof(f.fstype), "%s", m->fstype);
	f.path = strdup(m->target);
	if (bm_foreign_source(m, host, source, sizeof(source)))
		f.source = strdup(source);
	for (size_t i = 0; i < mounts->count && !f.below; i++)
		if (mounts->list[i].parent == m->id)
			f.below = strdup(mounts->list[i].target);
	grown = reallocarray(foreign->list, foreign->count + 1, sizeof(*grown));
	if (grown)
		foreign->list = grown;
	if (!grown || !f.path) {
		foreign_close(&f);
		return -ENOMEM;
	}
	foreign->list[foreign->count++] = f;
	return 0;
}

int bm_foreign_move(struct bm_foreign_list *to, struct bm_foreign_list *from)
{
	struct bm_foreign *grown;

	if (!from->count)
		return 0;
	grown = reallocarray(to->list, to->count + from->count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memcpy(grown + to->count, from->list, from->count * sizeof(*grown));
	to->list = grown;
	to->count += from->count;
	free(from->list);
	*from = (struct bm_foreign_list){};
	return 0;
}

static bool same_object(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

struct open_args {
	const char *source;
	int tree;
	bool writable;
};

static int open_source(void *arg, int *ret_fd, struct bm_error *err)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const struct open_args *a = arg;
	autoclose view = open(BM_HOST_VIEW, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	int r = bm_confine(BM_CONFINE_LOOK, err);
	char link[64];
	struct stat st;

	if (r < 0)
		return r;
	fd = view < 0 ? -1 : (int)syscall(SYS_openat2, view, a->source, &how, sizeof(how));
	if (view < 0 || fd < 0 || fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "%.200s on the host", a->source);
	if (!same_object(fd, a->tree))
		return bm_fail(err, ESTALE, "adopt", "grant it from where it is mounted",
			       "%.200s is another object on the host than in the container",
			       a->source);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	*ret_fd = open(link, (a->writable && !S_ISDIR(st.st_mode) ? O_RDWR : O_RDONLY) |
				     O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, "%.200s on the host", a->source) : 0;
}

int bm_foreign_open(const char *source, int tree, bool writable, int *ret_fd, struct bm_error *err)
{
	struct open_args args = { source, tree, writable };

	/* A file system of a network may not answer. */
	return bm_helper(open_source, &args, ret_fd, err);
}

struct clone_args {
	const struct bm_target *target;
	int fd;
};

static int clone_foreign(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct clone_args *a = arg;
	int r = bm_confine(BM_CONFINE_LOOK, err);

	if (r < 0)
		return r;
	/* Only in the namespace that a mount is in can it be cloned. */
	if (setns(a->target->ns[BM_NS_MNT], CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the container's mount namespace");
	*ret_fd = open_tree(a->fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, "open_tree") : 0;
}

int bm_foreign_clone(const struct bm_target *target, const struct bm_foreign *foreign,
		     int *ret_tree, struct bm_error *err)
{
	struct clone_args args = { target, foreign->fd };

	return bm_helper(clone_foreign, &args, ret_tree, err);
}

/* An empty directory, or null: it holds nothing. */
static int make_cover(const struct bm_target *target, bool directory)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC |
					       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
	autoclose fs = -1, cover = -1;
	struct stat st;

	if (!directory) {
		autoclose null =
			(int)syscall(SYS_openat2, target->root, "/dev/null", &how, sizeof(how));

		if (null < 0 || fstat(null, &st) < 0)
			return -errno;
		if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
			return -ENODEV;
		cover = open_tree(null, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
		return cover < 0 ? -errno : TAKE_FD(cover);
	}
	fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", "4k", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	cover = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (cover < 0 || mount_setattr(cover, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return TAKE_FD(cover);
}

static int cover_foreign(const struct bm_target *target, const struct bm_foreign *f,
			 struct bm_error *err)
{
	autoclose cover = make_cover(target, S_ISDIR(f->mode));

	if (cover >= 0 && move_mount(cover, "", f->fd, "",
				     MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0)
		return 0;
	return bm_fail(err, EBUSY, "own-objects",
		       "start the container anew without it, or with it bound in on its own",
		       "the kernel has locked %.200s in the container, and it can't be covered: %s",
		       f->path, strerror(cover < 0 ? -cover : errno));
}

/* By the fd, not by the path. -EINVAL: locked, or gone with one that it lay on. */
static int unmount(int self, int fd)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", fd);
	if (fchdir(self) < 0 || chdir("fd") < 0)
		return -errno;
	return umount2(name, MNT_DETACH) < 0 && errno != EINVAL ? -errno : 0;
}

struct detach_args {
	const struct bm_target *target;
	const struct bm_foreign_list *foreign;
};

static int detach(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct detach_args *a = arg;
	autoclose self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	automounts mounts = {};
	char *text;
	int r;

	(void)ret_fd;
	if (self < 0)
		return bm_fail_errno(err, errno, "/proc/self");
	r = bm_confine(BM_CONFINE_MOUNT, err);
	if (r < 0)
		return r;
	if (setns(a->target->ns[BM_NS_MNT], CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the container's mount namespace");
	/* Else what is unmounted here might be unmounted on the host too. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return bm_fail_errno(err, errno, "make the container's mounts private");
	/* Last mounted first, so that what lies on another goes before it. */
	for (size_t i = a->foreign->count; r == 0 && i-- > 0;)
		r = unmount(self, a->foreign->list[i].fd);
	if (r < 0)
		return bm_fail_errno(err, -r, "detach the container's volumes");
	r = bm_read_file(self, "mountinfo", MOUNTINFO_MAX, &text, NULL);
	if (r == 0)
		r = bm_mounts_parse(text, &mounts);
	if (r < 0)
		return bm_fail_errno(err, -r, "mountinfo");
	for (size_t i = 0; r == 0 && i < a->foreign->count; i++)
		if (bm_mount_find(&mounts, a->foreign->list[i].id))
			r = cover_foreign(a->target, &a->foreign->list[i], err);
	return r;
}

int bm_foreign_detach(const struct bm_target *target, const struct bm_foreign_list *foreign,
		      struct bm_error *err)
{
	struct detach_args args = { target, foreign };

	return bm_helper(detach, &args, NULL, err);
}
