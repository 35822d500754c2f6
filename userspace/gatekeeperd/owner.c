// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/nsfs.h>

#include "base/cleanup.h"

#define RULE "own-container"
#define REMEDY "have root attach it, or start it as yourself in a cgroup of your own"

/* As a manager delegates one: who may move processes into it may freeze and end them too. */
static int check_cgroup(const struct bm_cgroup_ref *cgroup, uid_t uid, struct bm_error *err)
{
	static const char *const files[] = { ".", "cgroup.procs" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct stat st;

		if (fstatat(cgroup->fd, files[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			return bm_fail_errno(err, errno, "cgroup %s", cgroup->path);
		if (st.st_uid != uid)
			return bm_fail(err, EPERM, RULE, REMEDY,
				       "cgroup %s is uid %u's and not delegated to uid %u",
				       cgroup->path, st.st_uid, uid);
	}
	return 0;
}

/*
 * Whoever has made a user namespace has every capability over what runs in it: it is theirs to wall
 * in. One that was made inside of another is that one's root's.
 */
static int check_userns(int fd, uid_t uid, struct bm_error *err)
{
	uid_t owner;

	if (ioctl(fd, NS_GET_OWNER_UID, &owner) < 0)
		return bm_fail_errno(err, errno, "the owner of the container's user namespace");
	return owner == uid ? 0
			    : bm_fail(err, EPERM, RULE, REMEDY,
				      "the container runs in a user namespace of uid %u's", owner);
}

static int check_there(pid_t pid, int pidfd, const struct bm_cgroup_ref *cgroup,
		       struct bm_error *err)
{
	struct pollfd polled = { pidfd, POLLIN, 0 };

	if (!bm_cgroup_holds(cgroup, pid) || poll(&polled, 1, 0) != 0)
		return bm_fail(err, EAGAIN, RULE, "attach it again",
			       "process %d has left cgroup %s, or has ended", pid, cgroup->path);
	return 0;
}

int container_is_of(pid_t pid, const struct bm_cgroup_ref *cgroup, uid_t uid, struct bm_error *err)
{
	autoclose pidfd = -1, userns = -1;
	char path[64];
	int r;

	if (uid == 0)
		return 0;
	r = check_cgroup(cgroup, uid, err);
	if (r < 0)
		return r;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return bm_fail_errno(err, errno, "process %d", pid);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	userns = open(path, O_RDONLY | O_CLOEXEC);
	if (userns < 0)
		return bm_fail_errno(err, errno, "%s", path);
	/* Of the process that the descriptor is of, if that has not ended meanwhile. */
	r = check_there(pid, pidfd, cgroup, err);
	return r < 0 ? r : check_userns(userns, uid, err);
}

int target_is_of(const struct bm_target *target, const struct bm_cgroup_ref *cgroup, uid_t uid,
		 struct bm_error *err)
{
	int r = uid ? check_cgroup(cgroup, uid, err) : 0;

	return r < 0 || !uid ? r : check_userns(target->ns[BM_NS_USER], uid, err);
}
