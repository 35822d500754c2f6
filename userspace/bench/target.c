// SPDX-License-Identifier: GPL-2.0-only
#include "bench/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <linux/nsfs.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "bench/mounts.h"
#include "bench/userns.h"
#include "confine/confine.h"

#define MOUNTINFO_MAX (16u << 20)

const char *const bm_namespace_names[BM_NS_MAX] = { "pid", "mnt",    "net", "uts",
						    "ipc", "cgroup", "user" };

void bm_target_close(struct bm_target *target)
{
	for (int i = 0; i < BM_NS_MAX; i++)
		bm_close(target->ns[i]);
	bm_close(target->root);
	*target = BM_TARGET_NONE;
}

static int open_namespaces(struct bm_target *t, struct bm_error *err)
{
	for (int i = 0; i < BM_NS_MAX; i++) {
		struct stat st;
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", t->pid, bm_namespace_names[i]);
		t->ns[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (t->ns[i] < 0 || fstat(t->ns[i], &st) < 0)
			return bm_fail_errno(err, errno, "%s", path);
		t->inode[i] = st.st_ino;
	}
	return 0;
}

static int inode_of(int fd, uint64_t *ret)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret = st.st_ino;
	return 0;
}

/*
 * True when the namespace belongs to init's user namespace, or (with above) to one that that lies
 * in: a runtime may have made the network first. What a payload unshares belongs to one below.
 */
static bool owned(const struct bm_target *t, enum bm_namespace kind, bool above)
{
	autoclose owner = ioctl(t->ns[kind], NS_GET_USERNS);
	autoclose user = fcntl(t->ns[BM_NS_USER], F_DUPFD_CLOEXEC, 0);
	uint64_t wanted = 0, here = 0;

	if (inode_of(owner, &wanted) < 0)
		return false;
	while (inode_of(user, &here) == 0) {
		int parent;

		if (here == wanted)
			return true;
		parent = above ? ioctl(user, NS_GET_PARENT) : -1;
		bm_close(user);
		user = parent;
	}
	return false;
}

bool bm_target_is_hosts(const struct bm_target *t, enum bm_namespace kind)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/1/ns/%s", bm_namespace_names[kind]);
	return stat(path, &st) == 0 && st.st_ino == t->inode[kind];
}

/*
 * A runtime makes all of them in one user namespace, or leaves the host's. What a payload makes for
 * itself by unshare(2) needs one of its own, and its pid namespace it can't leave; one that is the
 * host's says nothing, which is for admit.h.
 */
static int check_owners(const struct bm_target *t, struct bm_error *err)
{
	static const enum bm_namespace checked[] = { BM_NS_MNT, BM_NS_PID, BM_NS_NET };

	for (size_t i = 0; i < sizeof(checked) / sizeof(checked[0]); i++)
		if (!owned(t, checked[i], checked[i] == BM_NS_NET) &&
		    !(checked[i] == BM_NS_PID && bm_target_is_hosts(t, BM_NS_PID)))
			return bm_fail(err, EPERM, "namespaces", "start the container anew",
				       "its %s namespace belongs to another user namespace than "
				       "its init is in",
				       bm_namespace_names[checked[i]]);
	return 0;
}

struct root_args {
	const struct bm_target *target;
	const char *rootfs;
};

static int mount_of(int fd, uint64_t *ret_id, bool *ret_root)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &stx) < 0)
		return -errno;
	*ret_id = stx.stx_mnt_id;
	*ret_root = stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return 0;
}

static int past_hooks(struct bm_error *err)
{
	return bm_fail(err, ESTALE, "own-root", "run it as a createRuntime hook",
		       "the container is past its createRuntime hooks");
}

/* Only before the pivot is the namespace's root still the host's. */
static int check_unpivoted(int root, int rootfs, struct bm_error *err)
{
	uint64_t host_id = 0, id = 0;
	bool mounted, is_root;
	int r = mount_of(root, &host_id, &is_root);

	if (r == 0)
		r = mount_of(rootfs, &id, &mounted);
	if (r < 0)
		return bm_fail_errno(err, -r, "the container's root");
	if (id == host_id)
		return past_hooks(err);
	return mounted ? 0
		       : bm_fail(err, EPERM, "own-root", "use a runtime that does, as crun",
				 "the runtime has not mounted the container's root yet");
}

static int open_root(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct root_args *a = arg;
	autoclose root = -1, rootfs = -1;
	int r = bm_confine(BM_CONFINE_LOOK, err);

	if (r < 0)
		return r;
	/* Entering puts us at the namespace's root, wherever init has gone by chroot(2). */
	if (setns(a->target->ns[BM_NS_MNT], CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the container's mount namespace");
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return bm_fail_errno(err, errno, "the container's root");
	if (!a->rootfs) {
		*ret_fd = TAKE_FD(root);
		return 0;
	}
	rootfs = open(a->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (rootfs < 0)
		return errno == ENOENT ? past_hooks(err)
				       : bm_fail_errno(err, errno, "the container's root");
	r = check_unpivoted(root, rootfs, err);
	if (r == 0)
		*ret_fd = TAKE_FD(rootfs);
	return r;
}

static int read_bounding(struct bm_target *t, struct bm_error *err)
{
	autofree char *text = NULL;
	char path[64], *line;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/status", t->pid);
	r = bm_read_file(AT_FDCWD, path, 65536, &text, NULL);
	if (r < 0)
		return bm_fail_errno(err, -r, "%s", path);
	line = strstr(text, "\nCapBnd:");
	if (!line)
		return bm_fail(err, EPROTO, NULL, NULL, "%s: no CapBnd", path);
	t->bounding = strtoull(line + strlen("\nCapBnd:"), NULL, 16);
	return 0;
}

int bm_target_open(pid_t pid, const char *rootfs, struct bm_target *ret, struct bm_error *err)
{
	autotarget t = BM_TARGET_NONE;
	struct root_args args = { &t, rootfs };
	int r;

	t.pid = pid;
	r = open_namespaces(&t, err);
	if (r == 0)
		r = check_owners(&t, err);
	if (r == 0)
		r = bm_helper(open_root, &args, &t.root, err);
	if (r == 0)
		r = bm_userns_root_of(pid, &t.uid, &t.gid, err);
	if (r == 0)
		r = read_bounding(&t, err);
	if (r < 0)
		return r;
	*ret = t;
	t = BM_TARGET_NONE;
	return 0;
}

static int open_mountinfo(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct bm_target *target = arg;
	autoclose self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = bm_confine(BM_CONFINE_LOOK, err);

	if (r < 0)
		return r;
	/* Read as from the namespace's root: init may have left that by chroot(2). */
	if (self < 0 || setns(target->ns[BM_NS_MNT], CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the container's mount namespace");
	*ret_fd = openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, "the container's mounts") : 0;
}

/* Before the runtime has pivoted to its root, that is a mount like any other, below "/". */
static int rebase(int root, struct bm_mounts *mounts)
{
	autofree char *path = NULL;
	const struct bm_mount *m;
	uint64_t id;
	bool mounted;
	int r = mount_of(root, &id, &mounted);

	if (r < 0)
		return r;
	m = bm_mount_find(mounts, id);
	if (!m || !strcmp(m->target, "/"))
		return 0;
	path = strdup(m->target);
	if (!path)
		return -ENOMEM;
	bm_mounts_below(mounts, path);
	return 0;
}

int bm_target_mountinfo(const struct bm_target *target, int *ret_fd, struct bm_error *err)
{
	return bm_helper(open_mountinfo, (void *)(uintptr_t)target, ret_fd, err);
}

int bm_target_mounts(const struct bm_target *target, struct bm_mounts *ret, struct bm_error *err)
{
	autoclose fd = -1;
	char *text;
	int r = bm_target_mountinfo(target, &fd, err);

	if (r < 0)
		return r;
	r = bm_read_fd(fd, MOUNTINFO_MAX, &text, NULL);
	if (r == 0)
		r = bm_mounts_parse(text, ret);
	if (r == 0)
		r = rebase(target->root, ret);
	return r < 0 ? bm_fail_errno(err, -r, "the container's mounts") : 0;
}
