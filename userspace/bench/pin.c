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
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/memfd.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "bench/relocate.h"
#include "confine/confine.h"

#define PIN_PATH 64
#define PLACE_PATH 64

/* As seen from the root of its mount namespace. */
static void pin_path(char path[PIN_PATH], uint64_t object)
{
	snprintf(path, PIN_PATH, "/%" PRIu64, object);
}

static void place_path(char path[PLACE_PATH], uint32_t bench)
{
	snprintf(path, PLACE_PATH, BM_PIN_ROOT "/%u", bench);
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

/* Nobody but root gets into it; only on a private mount can a mount namespace be mounted. */
static int make_root(struct bm_error *err)
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

/* -ENOENT also where the file is there and no namespace on it. */
static int open_place(const char *path)
{
	struct statfs fs;
	int fd;

	if (statfs(path, &fs) < 0)
		return -errno;
	if (fs.f_type != NSFS_MAGIC)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A mount namespace that has an empty tmpfs and nothing of where it comes from; entered. */
static int empty_namespace(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("benchmon", BM_PIN_ROOT, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700") <
		    0 ||
	    chdir(BM_PIN_ROOT) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0)
		return -errno;
	return 0;
}

/* From the host's; self is /proc/self. */
static int make_namespace(int self, const char *path)
{
	autoclose file = open(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	autoclose host = openat(self, "ns/mnt", O_RDONLY | O_CLOEXEC), made = -1;
	char link[32];
	int r = file < 0 || host < 0 ? -errno : empty_namespace();

	if (r < 0)
		return r;
	made = openat(self, "ns/mnt", O_RDONLY | O_CLOEXEC);
	if (made < 0 || setns(host, CLONE_NEWNS) < 0 || fchdir(self) < 0)
		return -errno;
	snprintf(link, sizeof(link), "fd/%d", made);
	if (mount(link, path, NULL, MS_BIND, NULL) < 0 || setns(made, CLONE_NEWNS) < 0)
		return -errno;
	return 0;
}

static int enter_place(const char *path)
{
	autoclose place = open_place(path);

	if (place < 0)
		return place;
	return setns(place, CLONE_NEWNS) < 0 ? -errno : 0;
}

static int remove_place(const char *path)
{
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL && errno != ENOENT)
		return -errno;
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* A helper begins so. Before it enters another mount namespace: the proc there may not know it. */
static int begin(int *ret_self, struct bm_error *err)
{
	autoclose self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = self < 0 ? -errno : 0;

	if (r < 0)
		return bm_fail_errno(err, -r, "/proc/self");
	r = enter_host(err);
	if (r == 0)
		*ret_self = TAKE_FD(self);
	return r;
}

struct pin_args {
	uint32_t bench;
	int tree;
	bool directory;
	uint64_t object;
};

static int attach(const struct pin_args *a, struct bm_error *err)
{
	char path[PIN_PATH];
	int r = 0;

	pin_path(path, a->object);
	if (is_mount(path))
		return 0;
	if (a->directory ? mkdir(path, 0700) < 0 : mknod(path, S_IFREG | 0600, 0) < 0)
		r = errno == EEXIST ? 0 : -errno;
	if (r == 0 && move_mount(a->tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = -errno;
	return r < 0 ? bm_mount_failed(err, -r, "pin the object") : 0;
}

static int pin(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct pin_args *a = arg;
	char path[PLACE_PATH];
	autoclose self = -1;
	int r = bm_confine(BM_CONFINE_PIN, err);

	if (r == 0)
		r = begin(&self, err);
	if (r == 0)
		r = make_root(err);
	if (r < 0)
		return r;
	place_path(path, a->bench);
	r = enter_place(path);
	if (r == -ENOENT)
		r = make_namespace(self, path);
	if (r < 0)
		return bm_mount_failed(err, -r, "make a place for pins at %s", path);
	r = attach(a, err);
	if (r < 0)
		return r;
	*ret_fd = openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, "pins") : 0;
}

static int copy(int from, int to)
{
	char buf[16384];
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) > 0) {
		int r = bm_write_all(to, buf, (size_t)n);

		if (r < 0)
			return r;
	}
	return n < 0 ? -errno : 0;
}

/* Those of one Bench after those of another, into a file that the daemon has made. */
static int look_at_all(void *arg, int *ret_fd, struct bm_error *err)
{
	autoclose self = -1, host = -1;
	autoclosedir DIR *dir = NULL;
	const int *to = arg;
	struct dirent *entry;
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	(void)ret_fd;
	if (r == 0)
		r = begin(&self, err);
	if (r < 0)
		return r;
	host = openat(self, "ns/mnt", O_RDONLY | O_CLOEXEC);
	dir = host < 0 ? NULL : opendir(BM_PIN_ROOT);
	if (!dir)
		return errno == ENOENT ? 0 : bm_fail_errno(err, errno, BM_PIN_ROOT);
	while (r == 0 && (entry = readdir(dir))) {
		autoclose mountinfo = -1;
		char path[PLACE_PATH];
		char *end;

		place_path(path, (uint32_t)strtoull(entry->d_name, &end, 10));
		r = *end ? -ENOENT : enter_place(path);
		if (r == -ENOENT) {
			r = 0;
			continue;
		}
		mountinfo = openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
		if (r == 0)
			r = mountinfo < 0 ? -errno : copy(mountinfo, *to);
		if (r == 0 && setns(host, CLONE_NEWNS) < 0)
			r = -errno;
	}
	return r < 0 ? bm_fail_errno(err, -r, "pins") : 0;
}

int bm_pin(uint32_t bench, int source, pid_t peer, bool directory, uint64_t object,
	   struct bm_mounts *ret, struct bm_error *err)
{
	struct pin_args args = { .bench = bench, .directory = directory, .object = object };
	autoclose tree = -1, mountinfo = -1;
	int r = bm_mount_clone(source, peer, &tree, err);

	if (r == 0)
		r = bm_mount_restrict(tree, false, -1, err);
	args.tree = tree;
	if (r == 0)
		r = bm_helper(pin, &args, &mountinfo, err);
	return r < 0 || !ret ? r : bm_pins_parse(mountinfo, ret, err);
}

struct look_args {
	uint32_t bench;
	uint64_t object; /* 0: the mountinfo of all */
};

static int look(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct look_args *a = arg;
	char path[PLACE_PATH], name[PIN_PATH];
	autoclose self = -1;
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	if (r == 0)
		r = begin(&self, err);
	if (r < 0)
		return r;
	place_path(path, a->bench);
	r = enter_place(path);
	if (r == -ENOENT)
		return 0;
	pin_path(name, a->object);
	if (r == 0)
		*ret_fd = a->object ? open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
				    : openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
	if (r == 0 && *ret_fd < 0)
		r = -errno;
	return r < 0 ? bm_fail_errno(err, -r, "pins at %s", path) : 0;
}

int bm_pins_read(uint32_t bench, struct bm_mounts *ret, struct bm_error *err)
{
	struct look_args args = { bench, 0 };
	autoclose mountinfo = -1;
	int r = bm_helper(look, &args, &mountinfo, err);

	return r < 0 || mountinfo < 0 ? r : bm_pins_parse(mountinfo, ret, err);
}

int bm_pins_read_all(struct bm_mounts *ret, struct bm_error *err)
{
	autoclose to = (int)syscall(SYS_memfd_create, "pins", MFD_CLOEXEC);
	int r = to < 0 ? -errno : bm_helper(look_at_all, &to, NULL, err);

	if (r == 0 && lseek(to, 0, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? bm_fail_errno(err, -r, "pins") : bm_pins_parse(to, ret, err);
}

int bm_pin_open(uint32_t bench, uint64_t object, uint64_t *ret_superblock, int *ret_fd)
{
	struct look_args args = { bench, object };
	const struct bm_mount *pin;
	automounts pins = {};
	autoclose fd = -1;
	int r = bm_pins_read(bench, &pins, NULL);

	pin = r == 0 ? bm_pin_find(&pins, object) : NULL;
	if (!pin)
		return r ?: -ENOENT;
	r = bm_helper(look, &args, &fd, NULL);
	if (r < 0 || fd < 0)
		return r ?: -ENOENT;
	*ret_superblock = makedev(pin->major, pin->minor);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int bm_pin_fstype(uint32_t bench, uint64_t object, char *buf, size_t size)
{
	const struct bm_mount *pin;
	automounts pins = {};
	int r = bm_pins_read(bench, &pins, NULL);

	pin = r == 0 ? bm_pin_find(&pins, object) : NULL;
	if (pin)
		snprintf(buf, size, "%s", pin->fstype);
	return pin ? 0 : r ?: -ENOENT;
}

void bm_pins_forget(void)
{
	/* There may be none. */
	umount2(BM_PIN_ROOT, MNT_DETACH | UMOUNT_NOFOLLOW);
}

struct sweep_args {
	uint32_t bench;
	bool (*keep)(void *ctx, uint64_t number);
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

/* The numbers in a directory that are not to be kept; how many are, or -errno. */
static int sweep_names(const char *path, const struct sweep_args *a)
{
	autoclosedir DIR *dir = opendir(path);
	struct dirent *entry;
	int kept = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		char *end;
		uint64_t number = strtoull(entry->d_name, &end, 10);
		int r;

		if (*end)
			continue;
		if (a->keep(a->ctx, number)) {
			kept++;
			continue;
		}
		r = unpin(dirfd(dir), entry->d_name);
		if (r < 0)
			return r;
	}
	return kept;
}

static int sweep(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct sweep_args *a = arg;
	autoclose self = -1, host = -1;
	char path[PLACE_PATH];
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	(void)ret_fd;
	if (r == 0)
		r = begin(&self, err);
	if (r < 0)
		return r;
	/* Where the pins are, there is no way back. */
	host = openat(self, "ns/mnt", O_RDONLY | O_CLOEXEC);
	place_path(path, a->bench);
	r = host < 0 ? -errno : enter_place(path);
	if (r == 0)
		r = sweep_names("/", a);
	if (r > 0)
		return 0;
	if (r == 0 && setns(host, CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "leave the pins");
	/* Without pins it needs no place either. */
	if (r == 0 || r == -ENOENT)
		r = remove_place(path);
	return r < 0 ? bm_fail_errno(err, -r, "remove pins at %s", path) : 0;
}

int bm_pins_sweep(uint32_t bench, bool (*keep)(void *ctx, uint64_t object), void *ctx,
		  struct bm_error *err)
{
	struct sweep_args args = { bench, keep, ctx };

	return bm_helper(sweep, &args, NULL, err);
}

static int sweep_places(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct sweep_args *a = arg;
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	(void)ret_fd;
	if (r == 0)
		r = enter_host(err);
	if (r == 0)
		r = make_root(err);
	if (r == 0)
		r = sweep_names(BM_PIN_ROOT, a);
	return r < 0 ? bm_fail_errno(err, -r, "remove pins at " BM_PIN_ROOT) : 0;
}

int bm_pins_only(bool (*keep)(void *ctx, uint64_t bench), void *ctx, struct bm_error *err)
{
	struct sweep_args args = { 0, keep, ctx };

	return bm_helper(sweep_places, &args, NULL, err);
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
