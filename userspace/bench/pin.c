// SPDX-License-Identifier: GPL-2.0-only
#include "bench/pin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "bench/relocate.h"
#include "confine/confine.h"

#define PIN_PATH 64

static void pin_path(char path[PIN_PATH], uint64_t object)
{
	snprintf(path, PIN_PATH, BM_PIN_ROOT "/%" PRIu64, object);
}

/* The daemon's own mount namespace ends with it. */
static int enter_host(struct bm_error *err)
{
	autoclose mnt = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);

	if (mnt < 0 || setns(mnt, CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the host's mount namespace");
	return 0;
}

static bool is_mount(const char *path)
{
	struct statx stx;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &stx) == 0 &&
	       stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Nobody but root gets into it, and what is mounted in it arrives in no other namespace. */
static int make_place(struct bm_error *err)
{
	if (mkdir(BM_PIN_ROOT, 0700) < 0 && errno != EEXIST)
		return bm_fail_errno(err, errno, BM_PIN_ROOT);
	if (!is_mount(BM_PIN_ROOT) && mount("benchmon", BM_PIN_ROOT, "tmpfs",
					    MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700") < 0)
		return bm_fail_errno(err, errno, "mount a tmpfs at " BM_PIN_ROOT);
	if (mount(NULL, BM_PIN_ROOT, NULL, MS_PRIVATE, NULL) < 0)
		return bm_fail_errno(err, errno, "make " BM_PIN_ROOT " private");
	return 0;
}

struct pin_args {
	int tree;
	bool directory;
	uint64_t object;
};

static int pin(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct pin_args *a = arg;
	char path[PIN_PATH];
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	(void)ret_fd;
	if (r == 0)
		r = enter_host(err);
	if (r == 0)
		r = make_place(err);
	if (r < 0)
		return r;
	pin_path(path, a->object);
	if (is_mount(path))
		return 0;
	if (a->directory ? mkdir(path, 0700) < 0 : mknod(path, S_IFREG | 0600, 0) < 0)
		r = errno == EEXIST ? 0 : -errno;
	if (r == 0 && move_mount(a->tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = -errno;
	return r < 0 ? bm_fail_errno(err, -r, "pin the object at %s", path) : 0;
}

int bm_pin(int source, pid_t peer, bool directory, uint64_t object, struct bm_error *err)
{
	struct pin_args args = { .directory = directory, .object = object };
	autoclose tree = -1;
	int r = bm_mount_clone(source, peer, &tree, err);

	if (r == 0)
		r = bm_mount_restrict(tree, false, -1, err);
	args.tree = tree;
	return r < 0 ? r : bm_helper(pin, &args, NULL, err);
}

int bm_pins_read(struct bm_mounts *ret, struct bm_error *err)
{
	return bm_mounts_read(1, ret, err);
}

static const struct bm_mount *find(const struct bm_mounts *pins, uint64_t object)
{
	char path[PIN_PATH];

	pin_path(path, object);
	for (size_t i = 0; i < pins->count; i++)
		if (!strcmp(pins->list[i].target, path))
			return &pins->list[i];
	return NULL;
}

bool bm_pinned(const struct bm_mounts *pins, uint64_t object)
{
	return find(pins, object);
}

int bm_pin_open(uint64_t object, uint64_t *ret_superblock, int *ret_fd)
{
	char path[PIN_PATH + sizeof("/proc/1/root")] = "/proc/1/root";
	const struct bm_mount *pin;
	automounts pins = {};
	autoclose fd = -1;
	int r = bm_pins_read(&pins, NULL);

	pin = r == 0 ? find(&pins, object) : NULL;
	if (!pin)
		return r ?: -ENOENT;
	pin_path(path + strlen(path), object);
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_superblock = makedev(pin->major, pin->minor);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int bm_pin_fstype(uint64_t object, char *buf, size_t size)
{
	const struct bm_mount *pin;
	automounts pins = {};
	int r = bm_pins_read(&pins, NULL);

	pin = r == 0 ? find(&pins, object) : NULL;
	if (pin)
		snprintf(buf, size, "%s", pin->fstype);
	return pin ? 0 : r ?: -ENOENT;
}

bool bm_pins_inside(const struct bm_mounts *pins, uint64_t object, uint64_t outer)
{
	const struct bm_mount *in = find(pins, object), *out = find(pins, outer);
	size_t len;

	if (object == outer)
		return false;
	if (!in || !out)
		return true;
	if (in->major != out->major || in->minor != out->minor)
		return false;
	len = strlen(out->root);
	if (len == 1) /* "/" */
		return true;
	return !strncmp(in->root, out->root, len) && in->root[len] == '/';
}

void bm_pins_forget(void)
{
	/* There may be none. */
	umount2(BM_PIN_ROOT, MNT_DETACH | UMOUNT_NOFOLLOW);
}

struct sweep_args {
	bool (*keep)(void *ctx, uint64_t object);
	void *ctx;
};

static int unpin(int dir, const char *name)
{
	/* What is no mount any more is only a name. */
	if (fchdir(dir) < 0 || (umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL))
		return -errno;
	if (unlinkat(dir, name, 0) < 0 &&
	    (errno != EISDIR || unlinkat(dir, name, AT_REMOVEDIR) < 0))
		return -errno;
	return 0;
}

static int sweep(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct sweep_args *a = arg;
	autoclosedir DIR *dir = NULL;
	struct dirent *entry;
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	(void)ret_fd;
	if (r == 0)
		r = enter_host(err);
	if (r == 0)
		r = make_place(err);
	if (r < 0)
		return r;
	dir = opendir(BM_PIN_ROOT);
	if (!dir)
		return bm_fail_errno(err, errno, BM_PIN_ROOT);
	while ((entry = readdir(dir))) {
		char *end;
		uint64_t object = strtoull(entry->d_name, &end, 10);

		if (*end || a->keep(a->ctx, object))
			continue;
		r = unpin(dirfd(dir), entry->d_name);
		if (r < 0)
			return bm_fail_errno(err, -r, "remove " BM_PIN_ROOT "/%s", entry->d_name);
	}
	return 0;
}

int bm_pins_sweep(bool (*keep)(void *ctx, uint64_t object), void *ctx, struct bm_error *err)
{
	struct sweep_args args = { keep, ctx };

	return bm_helper(sweep, &args, NULL, err);
}

static int end(void *arg, int *ret_fd, struct bm_error *err)
{
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	(void)arg;
	(void)ret_fd;
	if (r == 0)
		r = enter_host(err);
	if (r < 0)
		return r;
	if (umount2(BM_PIN_ROOT, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL &&
	    errno != ENOENT)
		return bm_fail_errno(err, errno, "unmount " BM_PIN_ROOT);
	rmdir(BM_PIN_ROOT);
	return 0;
}

int bm_pins_end(struct bm_error *err)
{
	return bm_helper(end, NULL, NULL, err);
}
