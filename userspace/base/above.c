// SPDX-License-Identifier: GPL-2.0-only
#include "base/above.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"

#define MAX_DEPTH 4096

int bm_any_above(int dir, bool (*is)(void *ctx, int fd, const struct stat *st), void *ctx)
{
	autoclose at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	struct stat st, below = {};

	for (int i = 0; i < MAX_DEPTH; i++) {
		int up;

		if (fstat(at, &st) < 0)
			return -errno;
		if (is(ctx, at, &st))
			return 1;
		/* The root, which is its own parent. */
		if (i && st.st_ino == below.st_ino && st.st_dev == below.st_dev)
			return 0;
		below = st;
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0)
			return -errno;
		bm_close(at);
		at = up;
	}
	return -ELOOP;
}
