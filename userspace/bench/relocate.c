// SPDX-License-Identifier: GPL-2.0-only
#include "bench/relocate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "bench/mounts.h"
#include "bench/own.h"
#include "confine/confine.h"

#define MOUNTINFO_MAX (16u << 20)
#define RESOLVE (RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

struct clone_tree {
	int source;
	int mnt;
};

/*
 * Of this process, opened before it enters another mount namespace: the proc there may not know it.
 * What is read through it then tells of the namespace that was entered, as seen from its root.
 */
static int open_self(struct bm_error *err)
{
	int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? bm_fail_errno(err, errno, "/proc/self") : fd;
}

static int read_mounts(int self, struct bm_mounts *ret, struct bm_error *err)
{
	char *text;
	int r = bm_read_file(self, "mountinfo", MOUNTINFO_MAX, &text, NULL);

	if (r == 0)
		r = bm_mounts_parse(text, ret);
	return r < 0 ? bm_fail_errno(err, -r, "mountinfo") : 0;
}

static int refuse_covered(int self, int source, struct bm_error *err)
{
	char link[32], path[PATH_MAX];
	automounts mounts = {};
	ssize_t len;
	int r;

	snprintf(link, sizeof(link), "fd/%d", source);
	len = readlinkat(self, link, path, sizeof(path) - 1);
	if (len < 0)
		return bm_fail_errno(err, errno, "the object's path");
	/* "/" covers everything: compared as "". */
	if (len == 1)
		len = 0;
	path[len] = '\0';
	r = read_mounts(self, &mounts, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < mounts.count; i++) {
		const char *target = mounts.list[i].target;

		if (!strncmp(target, path, (size_t)len) && target[len] == '/' && target[len + 1])
			return bm_fail(err, EBUSY, "no-submounts",
				       "grant the directories that are meant one by one",
				       "%.200s is mounted below it; what that covers would show",
				       target);
	}
	return 0;
}

static int clone_in_peer(void *arg, int *ret_fd, struct bm_error *err)
{
	struct clone_tree *a = arg;
	autoclose self = open_self(err);
	int tree, r = bm_confine(BM_CONFINE_LOOK, err);

	if (self < 0 || r < 0)
		return self < 0 ? self : r;
	if (setns(a->mnt, CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the caller's mount namespace");
	r = refuse_covered(self, a->source, err);
	if (r < 0)
		return r;
	tree = open_tree(a->source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0 && errno == EINVAL)
		return bm_fail(err, EXDEV, "mount-namespace", "grant from where it is mounted",
			       "the object lies on a mount of another mount namespace");
	if (tree < 0)
		return bm_fail_errno(err, errno, "open_tree");
	*ret_fd = tree;
	return 0;
}

int bm_mount_clone(int source, pid_t peer, int *ret_tree, struct bm_error *err)
{
	struct clone_tree args = { .source = source };
	autoclose mnt = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", peer);
	mnt = open(path, O_RDONLY | O_CLOEXEC);
	if (mnt < 0)
		return bm_fail_errno(err, errno, "%s", path);
	args.mnt = mnt;
	return bm_helper(clone_in_peer, &args, ret_tree, err);
}

int bm_mount_restrict(int tree, bool writable, int map, struct bm_error *err)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    (writable ? 0 : MOUNT_ATTR_RDONLY),
		.propagation = MS_PRIVATE,
	};

	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return bm_fail_errno(err, errno, "restrict the mount");
	if (map < 0)
		return 0;
	attr = (struct mount_attr){ .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)map };
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
		return 0;
	if (errno == EINVAL || errno == EPERM)
		return bm_fail(err, EOPNOTSUPP, "idmap",
			       "keep it on ext4, xfs or btrfs, or pass --no-idmap to grant it with "
			       "the host's owners as they are",
			       "its file system can't be idmapped");
	return bm_fail_errno(err, errno, "idmap the mount");
}

int bm_dest_check(const char *dest, struct bm_error *err)
{
	static const char remedy[] = "give an absolute path such as /in/src";

	if (dest[0] != '/' || !dest[1])
		return bm_fail(err, EINVAL, "destination", remedy,
			       "the destination is not below /");
	if (strlen(dest) > 255)
		return bm_fail(err, ENAMETOOLONG, "destination", remedy,
			       "the destination is longer than 255 bytes");
	for (const char *p = dest; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return bm_fail(err, EINVAL, "destination", remedy,
				       "control byte 0x%02x in the destination", (unsigned char)*p);
	for (const char *p = dest; p; p = strchr(p + 1, '/')) {
		size_t len = strcspn(p + 1, "/");

		if (!len || (len <= 2 && !strncmp(p + 1, "..", len)))
			return bm_fail(err, EINVAL, "destination", remedy,
				       "empty, \".\" or \"..\" component in the destination");
	}
	return 0;
}

struct place_args {
	const struct bm_target *target;
	int tree;
	bool directory;
	const char *dest;
	bool created, back; /* back: dest is there */
	const struct bm_mounts *host;
	const uint64_t *own; /* ids of mounts that are known to be the Bench's; or NULL */
	size_t own_count;
	uint64_t device, inode;
};

static int open_below(int dir, const char *name, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC | O_NOFOLLOW,
				.resolve = RESOLVE };

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

static int enter_target(const struct bm_target *target, struct bm_error *err)
{
	return setns(target->ns[BM_NS_MNT], CLONE_NEWNS) < 0
		       ? bm_fail_errno(err, errno, "enter the Bench's mount namespace")
		       : 0;
}

/*
 * The same directory, on a detached mount of its own that is writable: for the Bench (exec: image)
 * its root is read-only, and what it was granted needs a mount point there all the same. Of its
 * root alone: the Bench may have moved a ro grant to where the path leads now.
 */
static int writable_twin(const struct place_args *a, int dir)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };
	struct statx here, root;
	autoclose tree = -1;

	if (statx(dir, "", AT_EMPTY_PATH, STATX_MNT_ID, &here) < 0 ||
	    statx(a->target->root, "", AT_EMPTY_PATH, STATX_MNT_ID, &root) < 0 ||
	    here.stx_mnt_id != root.stx_mnt_id)
		return -EROFS;
	tree = open_tree(dir, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return TAKE_FD(tree);
}

/*
 * Made as the Bench's root would make it: owned by it from the first moment. A chown afterwards
 * would go to whatever the Bench has put under that name meanwhile.
 */
static int make_point_at(int dir, const char *name, bool directory, const struct place_args *a)
{
	int r = 0;

	setfsgid(a->target->gid);
	setfsuid(a->target->uid);
	if (directory ? mkdirat(dir, name, 0755) < 0 : mknodat(dir, name, S_IFREG | 0644, 0) < 0)
		r = -errno;
	setfsuid(0);
	setfsgid(0);
	return r;
}

static int make_point_as(int dir, const char *name, bool directory, const struct place_args *a)
{
	int r = make_point_at(dir, name, directory, a);
	autoclose twin = r == -EROFS && (a->created || a->own) ? writable_twin(a, dir) : -1;

	return twin < 0 ? r : make_point_at(twin, name, directory, a);
}

/* In an image whose ids are none of the Bench's, its root makes nothing: what is ours lies there
 * too. */
static int make_point(int dir, const char *name, bool directory, const struct place_args *a)
{
	int r = make_point_as(dir, name, directory, a);
	struct bm_target host = *a->target;
	struct place_args ours = *a;

	if (r != -EACCES || !a->own)
		return r;
	host.uid = 0;
	host.gid = 0;
	ours.target = &host;
	return make_point_as(dir, name, directory, &ours);
}

/* A mount point made on a volume would be made on the host's own disk. */
static int check_own(const struct place_args *a, int self, int dir, struct bm_error *err)
{
	automounts mounts = {};
	struct bm_own_place nowhere = { .view = "", .cgroup = "" };
	struct statx stx;
	uint32_t rights;
	int r = 0;

	if (statx(dir, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &stx) < 0)
		return bm_fail_errno(err, errno, "%s in the Bench", a->dest);
	for (size_t i = 0; i < a->own_count; i++)
		if (a->own[i] == stx.stx_mnt_id)
			return 0;
	if (!a->own)
		r = read_mounts(self, &mounts, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < mounts.count; i++) {
		const struct bm_mount *m = &mounts.list[i];

		if (m->id != stx.stx_mnt_id)
			continue;
		if ((a->created && !strcmp(m->target, "/work")) ||
		    bm_own_classify(m, S_IFDIR, 0, a->host, &nowhere, &rights))
			return 0;
	}
	return bm_fail(err, EPERM, "destination", "give one below the container's own root",
		       "%s lies on a mount of the host's", a->dest);
}

/*
 * Walks to the parent of dest one component at a time, making what is missing; *ret_made is the
 * length of dest up to the first component made (0: none), for undoing.
 */
static int open_parent(const struct place_args *a, int self, char *dest, size_t *ret_made,
		       int *ret_dir, struct bm_error *err)
{
	autoclose dir = open_below(a->target->root, ".", O_DIRECTORY);
	char *name = dest + 1, *slash;

	if (dir < 0)
		return bm_fail_errno(err, errno, "the Bench's root");
	while ((slash = strchr(name, '/'))) {
		int next;

		*slash = '\0';
		next = open_below(dir, name, O_DIRECTORY);
		if (next < 0 && errno == ENOENT && !a->back) {
			int r = *ret_made ? 0 : check_own(a, self, dir, err);

			if (r < 0)
				return r;
			r = make_point(dir, name, true, a);
			if (r < 0)
				return bm_fail_errno(err, -r, "make %s in the Bench", dest);
			if (!*ret_made)
				*ret_made = strlen(dest);
			next = open_below(dir, name, O_DIRECTORY);
		}
		if (next < 0)
			return bm_fail(err, errno, "destination", "give another destination",
				       "%s in the Bench is no directory to be used: %s", dest,
				       strerror(errno));
		bm_close(dir);
		dir = next;
		*slash = '/';
		name = slash + 1;
	}
	if (!*ret_made) {
		int r = check_own(a, self, dir, err);

		if (r < 0)
			return r;
	}
	*ret_dir = TAKE_FD(dir);
	return 0;
}

static int remove_point(int dir, const char *name, bool directory, const struct place_args *a)
{
	int flags = directory ? AT_REMOVEDIR : 0;
	autoclose twin = -1;

	if (unlinkat(dir, name, flags) == 0)
		return 0;
	twin = errno == EROFS ? writable_twin(a, dir) : -1;
	return twin < 0 ? -1 : unlinkat(twin, name, flags);
}

/* Removes what is empty of dest and its parents down to length made (0: nothing). */
static void undo(const struct place_args *a, size_t made, bool directory)
{
	char dest[PATH_MAX];
	size_t len = (size_t)snprintf(dest, sizeof(dest), "%s", a->dest);

	while (made && len >= made) {
		autoclose dir = -1;
		char *slash;

		dest[len] = '\0';
		slash = strrchr(dest, '/');
		*slash = '\0';
		dir = open_below(a->target->root, slash == dest ? "." : dest, O_DIRECTORY);
		/* What was not reached is not there; what was is, and empty. */
		if ((dir < 0 || remove_point(dir, slash + 1, directory, a) < 0) && errno != ENOENT)
			return;
		directory = true;
		len = (size_t)(slash - dest);
	}
}

int bm_mount_failed(struct bm_error *err, int code, const char *format, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	if (code == ENOSPC)
		return bm_fail(err, ENOSPC, "mounts",
			       "revoke what is not needed, or raise the sysctl fs.mount-max",
			       "%s: the mount namespace has as many mounts as may be", what);
	return bm_fail_errno(err, code, "%s", what);
}

static int attach_tree(const struct place_args *a, int point, struct bm_error *err)
{
	if (point < 0 || move_mount(a->tree, "", point, "",
				    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return bm_mount_failed(err, errno, "mount at %s in the Bench", a->dest);
	return 0;
}

static int place_back_at(const struct place_args *a, int self, int dir, const char *name,
			 struct bm_error *err)
{
	autoclose point = open_below(dir, name, 0);
	struct stat st;
	int r;

	if (point < 0 || fstat(point, &st) < 0 ||
	    (a->directory ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode)))
		return bm_fail(err, ENOENT, "destination", "grant it to another destination",
			       "the mount point %s is not there any more", a->dest);
	/* The top of what lies there: a mount of somebody else's is never covered. */
	r = check_own(a, self, point, err);
	return r < 0 ? r : attach_tree(a, point, err);
}

static int place_at(const struct place_args *a, int dir, const char *name, size_t *made,
		    struct bm_error *err)
{
	autoclose point = -1;
	int r = make_point(dir, name, a->directory, a);

	if (r == -EEXIST)
		return bm_fail(err, EEXIST, "destination", "give one that does not exist yet",
			       "%s exists in the Bench and would be hidden", a->dest);
	if (r < 0)
		return bm_fail(err, -r, "destination", "give one below /work",
			       "make %s in the Bench: %s", a->dest, strerror(-r));
	if (!*made)
		*made = strlen(a->dest);
	point = open_below(dir, name, 0);
	return attach_tree(a, point, err);
}

static int place(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct place_args *a = arg;
	autoclose dir = -1, self = open_self(err);
	char dest[PATH_MAX];
	size_t made = 0;
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	(void)ret_fd;
	if (self < 0)
		return self;
	snprintf(dest, sizeof(dest), "%s", a->dest);
	if (r == 0)
		r = enter_target(a->target, err);
	if (r < 0)
		return r;
	r = open_parent(a, self, dest, &made, &dir, err);
	if (r == 0 && a->back)
		r = place_back_at(a, self, dir, strrchr(dest, '/') + 1, err);
	else if (r == 0)
		r = place_at(a, dir, strrchr(dest, '/') + 1, &made, err);
	if (r < 0)
		undo(a, made, a->directory);
	return r;
}

static int place_in(struct place_args *args, struct bm_error *err)
{
	automounts host = {};
	int r = bm_dest_check(args->dest, err);

	/* Here: where the helper goes, process 1 may be the Bench's. */
	if (r == 0 && !args->own)
		r = bm_mounts_read(1, &host, err);
	args->host = &host;
	return r < 0 ? r : bm_helper(place, args, NULL, err);
}

int bm_mount_place(const struct bm_target *target, int tree, bool directory, const char *dest,
		   bool created, struct bm_error *err)
{
	struct place_args args = { .target = target,
				   .tree = tree,
				   .directory = directory,
				   .dest = dest,
				   .created = created };

	return place_in(&args, err);
}

int bm_mount_place_on(const struct bm_target *target, int tree, const char *dest,
		      const uint64_t *own, size_t count, bool back, struct bm_error *err)
{
	struct place_args args = { .target = target,
				   .tree = tree,
				   .directory = true,
				   .dest = dest,
				   .back = back,
				   .own = own,
				   .own_count = count };

	return place_in(&args, err);
}

int bm_mount_place_back(const struct bm_target *target, int tree, bool directory, const char *dest,
			struct bm_error *err)
{
	struct place_args args = {
		.target = target, .tree = tree, .directory = directory, .dest = dest, .back = true
	};

	return place_in(&args, err);
}

/* True when fd is the root of mount m and that is the object. */
static bool is_object(int fd, const struct bm_mount *m, const struct place_args *a)
{
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &stx) == 0 &&
	       stx.stx_mnt_id == m->id && stx.stx_attributes & STATX_ATTR_MOUNT_ROOT &&
	       stx.stx_ino == a->inode &&
	       makedev(stx.stx_dev_major, stx.stx_dev_minor) == a->device;
}

int bm_mount_of_object(const struct bm_target *target, uint64_t device, uint64_t inode,
		       uint64_t *ret_ids, size_t max, int *ret_fd, struct bm_error *err)
{
	struct place_args a = { .device = device, .inode = inode };
	automounts mounts = {};
	int count = 0, r = bm_target_mounts(target, &mounts, err);

	*ret_fd = -1;
	for (size_t i = 0; r == 0 && i < mounts.count; i++) {
		autoclose fd = bm_mount_open(target->root, &mounts.list[i]);

		if (fd < 0 || !is_object(fd, &mounts.list[i], &a))
			continue;
		if ((size_t)count < max)
			ret_ids[count] = mounts.list[i].id;
		if (!count++)
			*ret_fd = TAKE_FD(fd);
	}
	return r < 0 ? r : count;
}

/* By the fd, not by the path: that may lead elsewhere by now. */
static int unmount_fd(int self, int fd)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", fd);
	if (fchdir(self) < 0 || chdir("fd") < 0 || umount2(name, MNT_DETACH) < 0)
		return -errno;
	return 0;
}

static int take(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct place_args *a = arg;
	autoclose self = open_self(err);
	automounts mounts = {};
	bool directory = true;
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	(void)ret_fd;
	if (self < 0)
		return self;
	if (r == 0)
		r = enter_target(a->target, err);
	if (r == 0)
		r = read_mounts(self, &mounts, err);
	if (r < 0)
		return r;
	/* Last mounted first, so that what lies on top of another goes before it. */
	for (size_t i = mounts.count; i-- > 0;) {
		autoclose fd = bm_mount_open(a->target->root, &mounts.list[i]);
		struct stat st;

		if (fd < 0 || !is_object(fd, &mounts.list[i], a))
			continue;
		directory = fstat(fd, &st) < 0 || S_ISDIR(st.st_mode);
		r = unmount_fd(self, fd);
		if (r < 0)
			return bm_fail_errno(err, -r, "unmount %s in the Bench",
					     mounts.list[i].target);
	}
	/* The point itself; parents may hold other grants by now and stay. */
	if (a->dest)
		undo(a, strlen(a->dest), directory);
	return 0;
}

int bm_mount_take(const struct bm_target *target, const char *dest, uint64_t device, uint64_t inode,
		  struct bm_error *err)
{
	struct place_args args = {
		.target = target, .tree = -1, .dest = dest, .device = device, .inode = inode
	};

	return bm_helper(take, &args, NULL, err);
}
