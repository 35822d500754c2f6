// SPDX-License-Identifier: GPL-2.0-only
/*
 * Going on with a ledger that is not what was written. What is whole of it stays, and the line
 * behind that says what was found and who went on; the rest is kept beside as it was.
 */
#include "audit/ledger_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NEW_NAME "ledger.new"
#define NEW_HEADS BM_HEAD_NAME ".new"

struct remains {
	struct bm_error why;
	int fd; /* below 0: there is no file */
	struct bm_scan scan;
	struct bm_head head;
	bool has_head;
};

/* -EALREADY: nothing is wrong. A file that is in use, or others', is not for us to judge. */
static int find_remains(int dirfd, const struct bm_chain *pinned, struct remains *ret,
			struct bm_error *err)
{
	autoledger *l = NULL;
	off_t size = 0;
	int slot, r = bm_ledger_open(dirfd, pinned, &l, &ret->why);

	if (r == 0)
		return bm_fail(err, EALREADY, "ledger-accept", NULL,
			       "nothing is wrong with the ledger: it was not changed");
	if (r != -EBADMSG && r != -EKEYREJECTED && r != -ENOENT) {
		if (err)
			*err = ret->why;
		return r;
	}
	bm_chain_start(&ret->scan.head);
	r = bm_ledger_open_file(dirfd, 0, &ret->fd, &size, NULL);
	if (r < 0 && r != -ENOENT)
		return bm_ledger_open_file(dirfd, 0, &ret->fd, &size, err);
	if (r == 0)
		bm_scan(&(struct bm_scan_of){ .fd = ret->fd, .end = size, .name = BM_LEDGER_NAME },
			&ret->scan, NULL, NULL);
	ret->has_head = bm_ledger_heads(dirfd, NULL, NULL, &ret->head, &slot, NULL) == 0;
	return 0;
}

static struct json_object *describe(const struct remains *found, const struct bm_chain *pinned,
				    struct json_object *by)
{
	struct json_object *json = json_object_new_object();
	char text[BM_HEAD_TEXT_LEN], saved[64], time[BM_TIME_LEN];

	bm_json_add_string(json, "why", found->why.message);
	bm_json_add_int(json, "kept", (int64_t)found->scan.lines);
	if (found->has_head)
		bm_json_add_string(json, "signed", bm_head_text(&found->head.at, text));
	if (pinned && pinned->n)
		bm_json_add_string(json, "kernel", bm_head_text(pinned, text));
	if (found->fd >= 0) {
		bm_time_format(bm_now_ns(CLOCK_REALTIME), time);
		snprintf(saved, sizeof(saved), "ledger.refused-%.19s", time);
		bm_json_add_string(json, "saved", saved);
	}
	bm_json_add(json, "confirmed", json_object_get(by));
	return json;
}

static int copy(int from, int to, off_t len)
{
	char chunk[65536];

	for (off_t at = 0; at < len;) {
		size_t want = len - at < (off_t)sizeof(chunk) ? (size_t)(len - at) : sizeof(chunk);
		ssize_t n = pread(from, chunk, want, at);
		int r = n > 0 ? bm_write_all(to, chunk, (size_t)n) : -EIO;

		if (r < 0)
			return n < 0 ? -errno : r;
		at += n;
	}
	return 0;
}

static int fresh_file(int dirfd, const char *name, int *ret_fd, struct bm_error *err)
{
	if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
		return bm_fail_errno(err, errno, "%s", name);
	*ret_fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, "%s", name) : 0;
}

/* With nothing whole, the chain goes on from what was signed, in a file of the next number. */
static int begin_anew(struct bm_ledger *l, const struct remains *found, struct bm_error *err)
{
	autojson *begin = NULL;

	if (found->has_head) {
		l->head = found->head.at;
		l->file = found->head.file + 1;
	}
	begin = bm_ledger_begin(l, NULL);
	return begin ? bm_ledger_put(l, "begin", begin, err)
		     : bm_fail_errno(err, ENOMEM, BM_LEDGER_NAME);
}

static int write_new(struct bm_ledger *l, const struct remains *found, struct json_object *fields,
		     struct bm_error *err)
{
	int r = fresh_file(l->dir, NEW_NAME, &l->fd, err);

	if (r == 0)
		r = fresh_file(l->dir, NEW_HEADS, &l->heads, err);
	if (r < 0)
		return r;
	if (found->scan.lines)
		r = copy(found->fd, l->fd, found->scan.length);
	if (r < 0)
		return bm_fail_errno(err, -r, NEW_NAME);
	l->length = found->scan.length;
	l->head = found->scan.head;
	l->file = found->scan.lines ? found->scan.file : 1;
	l->restating = true;
	r = found->scan.lines ? 0 : begin_anew(l, found, err);
	if (r == 0)
		r = bm_ledger_put(l, "accepted", fields, err);
	if (r == 0 && fsync(l->fd) < 0)
		r = bm_fail_errno(err, errno, NEW_NAME);
	if (r == 0 && (r = bm_ledger_sign(l)) < 0)
		bm_fail_errno(err, -r, NEW_HEADS);
	return r;
}

static int put_in_place(struct bm_ledger *l, const char *saved, struct bm_error *err)
{
	if (saved && linkat(l->dir, BM_LEDGER_NAME, l->dir, saved, 0) < 0)
		return bm_fail_errno(err, errno, "%s", saved);
	/* In between it is refused as before, and can be accepted again. */
	if (renameat(l->dir, NEW_NAME, l->dir, BM_LEDGER_NAME) < 0 || fsync(l->dir) < 0 ||
	    renameat(l->dir, NEW_HEADS, l->dir, BM_HEAD_NAME) < 0 || fsync(l->dir) < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_NAME);
	return 0;
}

static int accept_remains(int dirfd, const struct remains *found, struct json_object *fields,
			  struct bm_chain *ret_head, struct bm_error *err)
{
	autoledger *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return bm_fail_errno(err, ENOMEM, BM_LEDGER_NAME);
	l->fd = l->heads = -1;
	l->dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	if (l->dir < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_DIR);
	r = bm_ledger_key(dirfd, true, &l->key, NULL, err);
	if (r < 0)
		return r;
	bm_json_add_string(fields, "key", l->key.id);
	r = write_new(l, found, fields, err);
	if (r == 0)
		r = put_in_place(l, bm_json_string(fields, "saved"), err);
	if (r < 0) {
		unlinkat(dirfd, NEW_NAME, 0);
		unlinkat(dirfd, NEW_HEADS, 0);
		return r;
	}
	*ret_head = l->head;
	return 0;
}

int bm_ledger_accept(int dirfd, const struct bm_chain *pinned, struct json_object *by, bool dry,
		     struct json_object **ret, struct bm_chain *ret_head, struct bm_error *err)
{
	struct remains found = { .fd = -1 };
	autojson *fields = NULL;
	int r = find_remains(dirfd, pinned, &found, err);

	if (r < 0)
		return r;
	fields = describe(&found, pinned, by);
	r = dry ? 0 : accept_remains(dirfd, &found, fields, ret_head, err);
	bm_close(found.fd);
	if (r == 0)
		*ret = TAKE_PTR(fields);
	return r;
}
