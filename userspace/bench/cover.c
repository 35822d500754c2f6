// SPDX-License-Identifier: GPL-2.0-only
#include "bench/cover.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "confine/confine.h"

struct cover_args {
	const struct bm_target *target;
	int tree; /* below 0: only look */
	const char *dest;
	uint64_t device, inode;
};

static int cover(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct cover_args *a = arg;
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS };
	autoclose fd = -1;
	struct stat st;
	int r = bm_confine(BM_CONFINE_MOUNT, err);

	(void)ret_fd;
	if (r < 0)
		return r;
	if (setns(a->target->ns[BM_NS_MNT], CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the Bench's mount namespace");
	fd = (int)syscall(SYS_openat2, a->target->root, a->dest, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "%s in the Bench", a->dest);
	/* By the fd from here on: what the Bench puts there meanwhile is not meant. */
	if (st.st_dev != a->device || st.st_ino != a->inode)
		return bm_fail(err, EEXIST, "destination", "give one outside of the other grant",
			       "%s in the Bench is not the object that is granted", a->dest);
	if (a->tree >= 0 &&
	    move_mount(a->tree, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return bm_fail_errno(err, errno, "mount at %s in the Bench", a->dest);
	return 0;
}

bool bm_mount_is_at(const struct bm_target *target, const char *dest, uint64_t device,
		    uint64_t inode)
{
	struct cover_args args = { target, -1, dest, device, inode };

	return bm_helper(cover, &args, NULL, NULL) == 0;
}

int bm_mount_cover(const struct bm_target *target, int tree, const char *dest, uint64_t device,
		   uint64_t inode, struct bm_error *err)
{
	struct cover_args args = { target, tree, dest, device, inode };

	return bm_helper(cover, &args, NULL, err);
}
