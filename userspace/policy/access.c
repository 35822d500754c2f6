// SPDX-License-Identifier: GPL-2.0-only
#include "policy/access.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/helper.h"
#include "confine/confine.h"

struct question {
	int fd, mode;
	const struct bm_caller *caller;
};

/* A path is not walked: what lies above the object is nobody's secret from who has it open. */
static int ask(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct question *q = arg;
	const struct bm_caller *caller = q->caller;
	int r;

	(void)ret_fd;
	r = bm_confine_groups(caller->uid, caller->gid, caller->groups, caller->group_count, err);
	if (r == 0)
		r = bm_confine(BM_CONFINE_ACCESS, err);
	if (r < 0)
		return r;
	if (faccessat(q->fd, "", q->mode, AT_EACCESS | AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != EACCES && errno != EPERM && errno != EROFS)
		return bm_fail_errno(err, errno, "ask for the caller's access");
	return bm_fail(err, EACCES, "own-access",
		       q->mode & W_OK ? "grant it ro, or what you may write yourself"
				      : "grant what you may open yourself",
		       "uid %u may not %s it: that somebody has opened it proves nothing",
		       caller->uid, q->mode & W_OK ? "write" : "read");
}

int bm_access_check(int fd, const struct bm_caller *caller, bool writable, struct bm_error *err)
{
	struct question q = { fd, R_OK | (writable ? W_OK : 0), caller };
	struct stat st;

	if (caller->uid == 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "the object");
	if (S_ISDIR(st.st_mode))
		q.mode |= X_OK;
	return bm_helper(ask, &q, NULL, err);
}
