// SPDX-License-Identifier: GPL-2.0-only
#include "bench/own.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bpf/abi.h"

void bm_own_done(struct bm_own_list *own)
{
	for (size_t i = 0; i < own->count; i++)
		bm_close(own->list[i].fd);
	free(own->list);
	*own = (struct bm_own_list){};
}

int bm_own_add(struct bm_own_list *own, const char *what, const char *path, uint32_t rights, int fd)
{
	struct bm_own *grown = reallocarray(own->list, own->count + 1, sizeof(*grown));

	if (!grown) {
		bm_close(fd);
		return -ENOMEM;
	}
	own->list = grown;
	grown[own->count] = (struct bm_own){ .what = what, .rights = rights, .fd = fd };
	snprintf(grown[own->count].path, sizeof(grown->path), "%s", path);
	own->count++;
	return 0;
}

void bm_own_image(struct bm_own_list *own)
{
	for (size_t i = 0; i < own->count; i++) {
		struct bm_own *o = &own->list[i];
		bool image = !strcmp(o->what, "rootfs") || !strcmp(o->what, "layer");

		o->rights &= ~(uint32_t)(image ? BM_W : BM_X);
	}
}

static bool on_host(const struct bm_mounts *host, const struct bm_mount *m)
{
	for (size_t i = 0; i < host->count; i++)
		if (host->list[i].major == m->major && host->list[i].minor == m->minor)
			return true;
	return false;
}

bool bm_device_harmless(dev_t rdev)
{
	static const unsigned allowed[][2] = { { 1, 3 }, { 1, 5 }, { 1, 7 },
					       { 1, 8 }, { 1, 9 }, { 5, 0 } };

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (major(rdev) == allowed[i][0] && minor(rdev) == allowed[i][1])
			return true;
	return false;
}

/* What Podman and its like bind in for name look-ups and self-knowledge. */
static bool runtime_file(const char *target)
{
	static const char *const names[] = { "/etc/hosts", "/etc/hostname", "/etc/resolv.conf",
					     "/run/.containerenv" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(target, names[i]))
			return true;
	return false;
}

/* path itself, or what lies below it; "" is nobody's. */
static bool at_or_below(const char *found, const char *path)
{
	size_t len = strlen(path);

	return len && !strncmp(found, path, len) && (!found[len] || found[len] == '/');
}

/*
 * What a kernel's own file system shows is the namespace's or cgroup's that it was mounted for. A
 * proc of the host's pid namespace is one like any other where the container is in that: which of
 * its files are whose is decided file by file.
 */
static bool shows_own(const struct bm_mount *m, const struct bm_mounts *host,
		      const struct bm_own_place *place)
{
	if (!strcmp(m->fstype, "proc"))
		return !on_host(host, m) || (place->host_pid && at_or_below(m->target, "/proc"));
	if (!strcmp(m->fstype, "mqueue"))
		return !on_host(host, m) && !place->shared_ipc;
	return !strcmp(m->fstype, "devpts") && !on_host(host, m);
}

const char *bm_own_classify(const struct bm_mount *m, mode_t mode, dev_t rdev,
			    const struct bm_mounts *host, const struct bm_own_place *place,
			    uint32_t *ret_rights)
{
	uint32_t write = m->ro ? 0 : BM_W;

	if (!strcmp(m->target, "/")) {
		*ret_rights = BM_R | BM_X | write;
		return "rootfs";
	}
	if (S_ISCHR(mode) && bm_device_harmless(rdev)) {
		*ret_rights = BM_R | BM_W;
		return "device";
	}
	if (S_ISREG(mode) && runtime_file(m->target)) {
		*ret_rights = BM_R;
		return "runtime file";
	}
	if (shows_own(m, host, place)) {
		*ret_rights = BM_R | write;
		return "kernel's view of the Bench";
	}
	if (!strcmp(m->fstype, "sysfs") ||
	    (!strcmp(m->fstype, "cgroup2") && at_or_below(m->root, place->cgroup))) {
		*ret_rights = BM_R;
		return "kernel's view of the host";
	}
	/* Not a device node in it that the runtime bound somewhere. */
	if (!strcmp(m->fstype, "tmpfs") && !on_host(host, m) && (S_ISDIR(mode) || S_ISREG(mode))) {
		*ret_rights = BM_R | write | (m->noexec ? 0 : BM_X);
		return "private tmpfs";
	}
	return NULL;
}

/* The layers of the rootfs: what the kernel itself opens below an overlay, in the task's name. */
static int add_layer(struct bm_own_list *own, const char *view, const char *path, uint32_t rights,
		     struct bm_error *err)
{
	char full[PATH_MAX];
	int fd;

	snprintf(full, sizeof(full), "%s%s", view, path);
	fd = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return bm_fail(err, errno, "own-objects",
			       "mount the container's layers for benchmon too",
			       "layer %.200s of the rootfs: %s", path, strerror(errno));
	return bm_own_add(own, "layer", path, rights, fd);
}

/*
 * From the host's own mount of that overlay: what the container's mountinfo says is the word of
 * whoever mounted it there, and may name any directory of the host.
 */
static int add_layers(const struct bm_mount *rootfs, const struct bm_mounts *ours, const char *view,
		      struct bm_own_list *own, struct bm_error *err)
{
	char buf[8192], *rest = buf, *path;
	const struct bm_mount *m = NULL;
	int r = 0;

	for (size_t i = 0; i < ours->count && !m; i++)
		if (ours->list[i].major == rootfs->major && ours->list[i].minor == rootfs->minor)
			m = &ours->list[i];
	if (!m)
		return bm_fail(err, EPERM, "own-objects", "mount the overlay on the host",
			       "the rootfs is an overlay that the host has not mounted");
	if (!bm_mount_option(m->options, "lowerdir", buf, sizeof(buf)))
		return bm_fail(err, ENAMETOOLONG, "own-objects",
			       "mount it with lowerdir= and fewer layers",
			       "the layers of the rootfs can't be read from its mount options");
	while (r == 0 && (path = bm_mount_layer(&rest)))
		r = *path == '/'
			    ? add_layer(own, view, path, BM_R | BM_X, err)
			    : bm_fail(err, EPERM, "own-objects", "mount it without data layers",
				      "the rootfs has a layer that is no absolute path");
	if (r == 0 && bm_mount_option(m->options, "upperdir", buf, sizeof(buf)))
		r = add_layer(own, view, buf, BM_R | BM_W | BM_X, err);
	/* Where it makes copies before it moves them up. */
	if (r == 0 && bm_mount_option(m->options, "workdir", buf, sizeof(buf)))
		r = add_layer(own, view, buf, BM_R | BM_W | BM_X, err);
	return r;
}

/* The root file system is all its own; the host's must not become that. */
static int check_rootfs(const struct bm_mount *rootfs, const struct bm_mounts *host,
			struct bm_error *err)
{
	for (size_t i = 0; i < host->count; i++) {
		const struct bm_mount *m = &host->list[i];

		if (m->major == rootfs->major && m->minor == rootfs->minor &&
		    !strcmp(m->root, rootfs->root) && !strcmp(m->target, "/"))
			return bm_fail(err, EPERM, "own-objects",
				       "give the container a root file system of its own",
				       "its root file system is the host's");
	}
	return 0;
}

/*
 * The mount itself, by its path; *ret_fd stays -1 where it is over-mounted, so that no path leads
 * there. Any other failure is one: what can't be looked at must not be taken for absent.
 */
static int open_mount(const struct bm_target *target, const struct bm_mount *m,
		      struct statx *ret_stx, int *ret_fd)
{
	int r = bm_mount_open(target->root, m);
	autoclose fd = r;

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR || r == -ELOOP ? 0 : r;
	/* As it is known: whoever serves a file system in user space may be frozen. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, ret_stx) <
	    0)
		return -errno;
	if (ret_stx->stx_mnt_id == m->id)
		*ret_fd = TAKE_FD(fd);
	return 0;
}

int bm_own_collect(const struct bm_target *target, const struct bm_own_place *place,
		   struct bm_own_list *ret, struct bm_foreign_list *ret_foreign,
		   struct bm_error *err)
{
	automounts mounts = {}, host = {}, ours = {};
	autoforeign foreign = {};
	autoown own = {};
	int r = bm_target_mounts(target, &mounts, err);

	if (r == 0)
		r = bm_mounts_read(1, &host, err);
	if (r == 0)
		r = bm_mounts_read(*place->view ? 1 : getpid(), &ours, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < mounts.count; i++) {
		const struct bm_mount *m = &mounts.list[i];
		const char *what;
		uint32_t rights;
		struct statx stx;
		autoclose fd = -1;

		r = open_mount(target, m, &stx, &fd);
		if (r < 0)
			return bm_fail(err, -r, "own-objects", "start the container without it",
				       "%.200s in the container can't be looked at: %s", m->target,
				       strerror(-r));
		if (fd < 0)
			continue;
		what = bm_own_classify(m, stx.stx_mode,
				       makedev(stx.stx_rdev_major, stx.stx_rdev_minor), &host,
				       place, &rights);
		if (!what) {
			r = bm_foreign_add(&foreign, m, stx.stx_mode, &mounts, &host, TAKE_FD(fd));
			if (r < 0)
				return bm_fail_errno(err, -r, "the container's mounts");
			continue;
		}
		r = strcmp(what, "rootfs") ? 0 : check_rootfs(m, &host, err);
		if (r == 0)
			r = bm_own_add(&own, what, m->target, rights, TAKE_FD(fd));
		if (r == 0 && !strcmp(what, "rootfs") && !strcmp(m->fstype, "overlay"))
			r = add_layers(m, &ours, place->view, &own, err);
		if (r < 0)
			return bm_fail_errno(err, -r, "own objects");
	}
	*ret = own;
	own = (struct bm_own_list){};
	if (ret_foreign) {
		*ret_foreign = foreign;
		foreign = (struct bm_foreign_list){};
	}
	return 0;
}

/* What is still mounted has been covered; held by their fds, their ids are no other mount's. */
static int find_covered(const struct bm_target *target, struct bm_foreign_list *gone,
			struct bm_error *err)
{
	automounts mounts = {};
	int r = gone->count ? bm_target_mounts(target, &mounts, err) : 0;

	for (size_t i = 0; r == 0 && i < gone->count; i++)
		gone->list[i].covered = bm_mount_find(&mounts, gone->list[i].id);
	return r;
}

/* Mounts stacked deeper on one place than this are nobody's honest work. */
#define ROUNDS_MAX 64

int bm_own_clear(const struct bm_target *target, const struct bm_own_place *place,
		 struct bm_own_list *ret, struct bm_foreign_list *gone, struct bm_error *err)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		autoforeign foreign = {};
		autoown own = {};
		int r = bm_own_collect(target, place, &own, &foreign, err);

		/* Once in any case, for what the host may mount later. */
		if (r == 0 && (foreign.count || !round)) {
			r = bm_foreign_detach(target, &foreign, err);
			if (bm_foreign_move(gone, &foreign) < 0)
				r = -ENOMEM;
		} else if (r == 0) {
			r = find_covered(target, gone, err);
			if (r < 0)
				return r;
			*ret = own;
			own = (struct bm_own_list){};
			return 0;
		}
		if (r < 0)
			return bm_fail_errno(err, -r, "detach the container's volumes");
	}
	return bm_fail(err, ELOOP, "own-objects", "start the container without them",
		       "more than %d mounts of the host lie on top of each other", ROUNDS_MAX);
}
