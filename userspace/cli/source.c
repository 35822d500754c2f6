// SPDX-License-Identifier: GPL-2.0-only
#include "cli/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

static int type_check(const char *path, mode_t mode, struct bm_error *err)
{
	const char *what = S_ISLNK(mode)    ? "a symbolic link"
			   : S_ISCHR(mode)  ? "a character device"
			   : S_ISBLK(mode)  ? "a block device"
			   : S_ISFIFO(mode) ? "a pipe"
			   : S_ISSOCK(mode) ? "a socket"
					    : "of an unknown type";

	if (S_ISDIR(mode) || S_ISREG(mode))
		return 0;
	if (S_ISLNK(mode))
		return bm_fail(err, ELOOP, "pinned-object",
			       "name what it points to: a grant is an object, not a path",
			       "%s is %s", path, what);
	return bm_fail(err, EINVAL, "pinned-object", "grant a directory or a regular file",
		       "%s is %s", path, what);
}

static int open_error(const char *path, bool writable, struct bm_error *err)
{
	int code = errno;

	if (code == ELOOP)
		return type_check(path, S_IFLNK, err);
	if (code == EACCES || code == EPERM)
		return bm_fail(err, code, "own-credentials",
			       "only what you may use yourself can be granted",
			       "%s: you may not %s it", path, writable ? "write" : "read");
	return bm_fail_errno(err, code, "%s", path);
}

int cli_source_open(const char *path, bool writable, int *ret_fd, struct bm_error *err)
{
	char plain[PATH_MAX];
	size_t len = strlen(path);
	autoclose fd = -1;
	struct stat st;
	int flags = O_RDONLY;
	int r;

	/* "link/" is what the link points to, also with O_NOFOLLOW. */
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (!len || len >= sizeof(plain))
		return bm_fail_errno(err, len ? ENAMETOOLONG : ENOENT, "source");
	snprintf(plain, sizeof(plain), "%.*s", (int)len, path);

	/* Looked at first: opening a device can already have an effect. */
	if (lstat(plain, &st) < 0)
		return open_error(plain, false, err);
	r = type_check(plain, st.st_mode, err);
	if (r < 0)
		return r;
	if (writable && S_ISREG(st.st_mode))
		flags = O_RDWR;
	fd = open(plain, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return open_error(plain, flags == O_RDWR, err);
	if (fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "%s", plain);
	r = type_check(plain, st.st_mode, err);
	if (r < 0)
		return r;
	if (writable && S_ISDIR(st.st_mode) &&
	    faccessat(fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH) < 0)
		return open_error(plain, true, err);
	*ret_fd = TAKE_FD(fd);
	return 0;
}
