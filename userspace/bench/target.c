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

static int open_root(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct bm_target *t = arg;

	/* Entering puts us at the namespace's root, wherever init has gone by chroot(2). */
	if (setns(t->ns[BM_NS_MNT], CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the container's mount namespace");
	*ret_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, "the container's root") : 0;
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

int bm_target_open(pid_t pid, struct bm_target *ret, struct bm_error *err)
{
	autotarget t = BM_TARGET_NONE;
	int r;

	t.pid = pid;
	r = open_namespaces(&t, err);
	if (r == 0)
		r = check_owners(&t, err);
	if (r == 0)
		r = bm_helper(open_root, &t, &t.root, err);
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

	/* Read as from the namespace's root: init may have left that by chroot(2). */
	if (self < 0 || setns(target->ns[BM_NS_MNT], CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the container's mount namespace");
	*ret_fd = openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, "the container's mounts") : 0;
}

int bm_target_mounts(const struct bm_target *target, struct bm_mounts *ret, struct bm_error *err)
{
	autoclose fd = -1;
	char *text;
	int r = bm_helper(open_mountinfo, (void *)(uintptr_t)target, &fd, err);

	if (r < 0)
		return r;
	r = bm_read_fd(fd, MOUNTINFO_MAX, &text, NULL);
	if (r == 0)
		r = bm_mounts_parse(text, ret);
	return r < 0 ? bm_fail_errno(err, -r, "the container's mounts") : 0;
}
