// SPDX-License-Identifier: GPL-2.0-only
/*
 * A new file is written beside the old one, whole, and takes its name in one step. A crash leaves
 * the old file, or the new one with a head that is still the old one's last line.
 */
#include "audit/ledger_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/step.h"

#define NEW_NAME "ledger.new"

static int make_new(struct bm_ledger *l, int *ret_fd, struct bm_error *err)
{
	autoclose fd = -1;

	if (unlinkat(l->dir, NEW_NAME, 0) < 0 && errno != ENOENT)
		return bm_fail_errno(err, errno, NEW_NAME);
	fd = openat(l->dir, NEW_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return bm_fail_errno(err, errno, NEW_NAME);
	/* Before anybody can find it by the ledger's name. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return bm_fail_errno(err, errno, NEW_NAME);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* A second name; one that an earlier try has left is the same file. */
static int name_old(struct bm_ledger *l, int old, const char *name, struct bm_error *err)
{
	struct stat there, ours;

	if (linkat(l->dir, BM_LEDGER_NAME, l->dir, name, 0) == 0)
		return 0;
	if (errno != EEXIST)
		return bm_fail_errno(err, errno, "%s", name);
	if (fstatat(l->dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(old, &ours) == 0 &&
	    there.st_ino == ours.st_ino && there.st_dev == ours.st_dev)
		return 0;
	return bm_fail(err, EEXIST, "ledger-rotate", "move it elsewhere",
		       "%s is there already, and is not the ledger", name);
}

/* With l as it is for the new file. */
static int fill(struct bm_ledger *l, struct json_object *fields,
		int (*fn)(void *ctx, struct bm_error *err), void *ctx, struct bm_error *err)
{
	autojson *begin = bm_ledger_begin(l, fields);
	int r = begin ? bm_ledger_put(l, "begin", begin, err)
		      : bm_fail_errno(err, ENOMEM, NEW_NAME);

	if (r == 0)
		r = fn(ctx, err);
	if (r == 0 && fdatasync(l->fd) < 0)
		r = bm_fail_errno(err, errno, NEW_NAME);
	return r;
}

static int take_place(struct bm_ledger *l, int old, const char *name, struct bm_error *err)
{
	int r = name_old(l, old, name, err);

	STEP(ROTATE_NAMED);
	if (r < 0)
		return r;
	if (renameat(l->dir, NEW_NAME, l->dir, BM_LEDGER_NAME) < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_NAME);
	STEP(ROTATE_RENAMED);
	/* There is no way back: what is written from now on may go with the name. */
	if (fsync(l->dir) < 0)
		l->broken = true;
	return 0;
}

static void back(struct bm_ledger *l, const struct bm_ledger *before)
{
	bm_close(l->fd);
	l->fd = before->fd;
	l->length = before->length;
	l->reserved = before->reserved;
	l->file = before->file;
	l->head = before->head;
	l->restating = false;
	unlinkat(l->dir, NEW_NAME, 0);
}

int bm_ledger_rotate(struct bm_ledger *l, struct json_object *fields,
		     int (*fn)(void *ctx, struct bm_error *err), void *ctx, char ret_old[64],
		     struct bm_error *err)
{
	struct bm_ledger before;
	int fd = -1, r;

	if (bm_ledger_settle(l))
		return bm_fail(err, ENOSPC, "ledger-full", "make room where the ledger lies",
			       BM_LEDGER_NAME " has lines that are yet to be written");
	r = make_new(l, &fd, err);
	if (r < 0)
		return r;
	STEP(ROTATE_NEW);
	before = *l;
	l->fd = fd;
	l->length = l->reserved = 0;
	l->file++;
	l->restating = true;
	snprintf(ret_old, 64, BM_LEDGER_OLD "%" PRIu32 BM_LEDGER_SUFFIX, before.file);
	r = fill(l, fields, fn, ctx, err);
	STEP(ROTATE_FILLED);
	if (r == 0)
		r = take_place(l, before.fd, ret_old, err);
	if (r < 0) {
		back(l, &before);
		return r;
	}
	l->restating = false;
	/* Its room behind the end goes back. */
	if (ftruncate(before.fd, before.length) == 0)
		fdatasync(before.fd);
	bm_close(before.fd);
	bm_ledger_reserve(l);
	STEP(ROTATE_RESERVED);
	r = bm_ledger_sign(l);
	STEP(ROTATE_SIGNED);
	return r < 0 ? bm_fail_errno(err, -r, BM_HEAD_NAME) : 0;
}
