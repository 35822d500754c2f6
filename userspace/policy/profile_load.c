// SPDX-License-Identifier: GPL-2.0-only
/* Where a definition comes from: nobody but its owner may have written it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "policy/broker.h"
#include "policy/profile.h"

#define RULE "profile-files"

static int check_owner(int fd, const char *what, uid_t owner, mode_t kind, struct stat *st,
		       struct bm_error *err)
{
	if (fstat(fd, st) < 0)
		return bm_fail_errno(err, errno, "%s", what);
	if ((st->st_mode & S_IFMT) != kind)
		return bm_fail(err, EPERM, RULE, NULL, "%s is no %s", what,
			       kind == S_IFDIR ? "directory" : "regular file");
	if (st->st_uid && st->st_uid != owner)
		return bm_fail(err, EPERM, RULE, "chown root it after you have read it",
			       "%s belongs to uid %u, not to root", what, st->st_uid);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return bm_fail(err, EPERM, RULE, "chmod go-w it after you have read it",
			       "%s can be written by others than its owner", what);
	return 0;
}

int bm_definition_read(int dir, const char *dir_name, const char *file, uid_t owner, size_t max,
		       char **ret, size_t *ret_len, struct bm_error *err)
{
	autoclose fd = -1;
	struct stat st;
	int r = check_owner(dir, dir_name, owner, S_IFDIR, &st, err);

	if (r < 0)
		return r;
	/* O_NONBLOCK: a FIFO of that name must not hold up the daemon. */
	fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ELOOP)
		return bm_fail(err, EPERM, RULE, "put the file itself there",
			       "%s is a symbolic link", file);
	if (fd < 0)
		return bm_fail_errno(err, errno, "%s", file);
	r = check_owner(fd, file, owner, S_IFREG, &st, err);
	if (r < 0)
		return r;
	if (st.st_size > (off_t)max)
		return bm_fail(err, EFBIG, "profile", "split it", "%s: larger than %zu bytes", file,
			       max);
	r = bm_read_fd(fd, max, ret, ret_len);
	return r < 0 ? bm_fail_errno(err, -r, "%s", file) : 0;
}

/* PREFIX/libexec/benchmon/gatekeeperd: PREFIX/share/benchmon/BELOW. */
static int installed_dir(const char *below, char path[PATH_MAX])
{
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (n <= 0)
		return -ENOENT;
	program[n] = '\0';
	for (int i = 0; i < 3; i++) {
		char *slash = strrchr(program, '/');

		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
	n = snprintf(path, PATH_MAX, "%s/share/benchmon/%s", program, below);
	return n < PATH_MAX ? 0 : -ENOENT;
}

int bm_definition_dir(int i, const char *own, const char *below, char path[PATH_MAX])
{
	if (i > 1)
		return -ENOENT;
	if (i == 0)
		snprintf(path, PATH_MAX, "%s", own);
	else if (installed_dir(below, path) < 0)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int bm_profile_load(int dir, const char *name, uid_t owner, struct bm_profile *ret,
		    struct bm_error *err)
{
	autofree char *text = NULL;
	char file[BM_PROFILE_NAME_LEN + 8];
	size_t len;
	int r = bm_profile_name_check(name, err);

	if (r < 0)
		return r;
	snprintf(file, sizeof(file), "%.32s.json", name);
	r = bm_definition_read(dir, "the directory of profiles", file, owner, BM_PROFILE_MAX, &text,
			       &len, err);
	return r < 0 ? r : bm_profile_parse(text, len, file, name, ret, err);
}

int bm_broker_load(int dir, const char *name, uid_t owner, struct bm_broker *ret,
		   struct bm_error *err)
{
	autofree char *text = NULL;
	char file[BM_BROKER_NAME_LEN + 8];
	size_t len;
	int r = bm_broker_name_check(name, err);

	if (r < 0)
		return r;
	snprintf(file, sizeof(file), "%.32s.json", name);
	r = bm_definition_read(dir, "the directory of brokers", file, owner, BM_BROKER_MAX, &text,
			       &len, err);
	return r < 0 ? r : bm_broker_parse(text, len, file, name, ret, err);
}
