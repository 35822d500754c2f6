// SPDX-License-Identifier: GPL-2.0-only
#include "bench/named.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "bench/target.h"
#include "confine/confine.h"

/* Everybody waits for it: what takes longer is a file system whose server does not answer. */
#define NAMED_MS 10000

struct naming {
	const struct bm_target *target;
	const char *path;
	void (*ask)(int fd, uint64_t cookie);
	uint64_t cookie;
	struct bm_named *ret; /* shared with the daemon */
};

static int look(int fd, int links, struct bm_named *ret)
{
	struct statx stx;
	char number[16];
	ssize_t len;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID,
		  &stx) < 0)
		return -errno;
	*ret = (struct bm_named){ .mode = stx.stx_mode,
				  .uid = stx.stx_uid,
				  .gid = stx.stx_gid,
				  .mount = stx.stx_mnt_id,
				  .inode = stx.stx_ino,
				  .major = stx.stx_dev_major,
				  .minor = stx.stx_dev_minor };
	snprintf(number, sizeof(number), "%d", fd);
	len = readlinkat(links, number, ret->path, sizeof(ret->path) - 1);
	ret->path[len < 0 ? 0 : len] = '\0';
	return 0;
}

/*
 * In its network too: what procfs tells of that is another's to who is in another. Not in its
 * cgroup: what is in there is of the Bench, and stands still with it.
 */
static int name(void *arg, int *ret_fd, struct bm_error *err)
{
	struct naming *n = arg;
	const struct bm_target *t = n->target;
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	/* The proc there may not know this process. */
	autoclose links = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose fd = -1;
	int r = bm_confine(BM_CONFINE_LOOK, err);

	(void)ret_fd;
	if (r < 0)
		return r;
	if (links < 0)
		return bm_fail_errno(err, EBADF, "/proc/self/fd");
	if (setns(t->ns[BM_NS_MNT], CLONE_NEWNS) < 0 || setns(t->ns[BM_NS_NET], CLONE_NEWNET) < 0)
		return bm_fail_errno(err, errno, "enter the Bench's namespaces");
	fd = (int)syscall(SYS_openat2, t->root, n->path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	r = look(fd, links, n->ret);
	if (r < 0)
		return bm_fail_errno(err, -r, "stat");
	n->ask(fd, n->cookie);
	return 0;
}

int bm_named(const struct bm_target *target, const char *path, void (*ask)(int fd, uint64_t cookie),
	     uint64_t cookie, struct bm_named *ret, struct bm_error *err)
{
	struct bm_named *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct naming n = { target, path, ask, cookie, shared };
	struct bm_error found = {};
	int r;

	if (shared == MAP_FAILED)
		return bm_fail_errno(err, errno, "mmap");
	r = bm_helper_within(NAMED_MS, name, &n, NULL, &found);
	*ret = *shared;
	munmap(shared, sizeof(*shared));
	if (r == -ENOENT || r == -ENOTDIR)
		return -ENOENT;
	if (r == -EXDEV || r == -ELOOP)
		return bm_fail(err, EXDEV, "why", "ask about the path that it leads to",
			       "the way leads through links that are no path outside of a process");
	if (r < 0 && err && !err->code)
		*err = found;
	return r;
}
