// SPDX-License-Identifier: GPL-2.0-only
#include "audit/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/files.h"
#include "audit/ledger_internal.h"
#include "base/cleanup.h"

struct walk {
	const struct bm_verify *how;
	struct bm_mark *marks; /* how's, and behind them the signed head */
	size_t count;
	struct bm_head head;
	bool has_head;
	struct json_object *files;
	struct bm_scan last; /* of the file before, from which the next goes on */
	uint32_t reached;    /* its number; 0: none yet */
	uint64_t lines, first, unsigned_lines, accepted;
	off_t torn;
};

static void add_file(struct walk *w, const char *name, const char *state,
		     const struct bm_scan *scan)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "name", name);
	bm_json_add_string(json, "state", state);
	if (scan && scan->lines) {
		bm_json_add_int(json, "first", (int64_t)scan->before.n + 1);
		bm_json_add_int(json, "last", (int64_t)scan->head.n);
	}
	json_object_array_add(w->files, json);
}

/* Those between the last one looked at and number. */
static void add_missing(struct walk *w, uint32_t number)
{
	char name[64];

	if (number <= 1 || number == w->reached + 1)
		return;
	/* Many that are gone are told as one line. */
	if (number - w->reached > 2)
		snprintf(name, sizeof(name),
			 BM_LEDGER_OLD "%" PRIu32 BM_LEDGER_SUFFIX " to %" PRIu32, w->reached + 1,
			 number - 1);
	else
		snprintf(name, sizeof(name), BM_LEDGER_OLD "%" PRIu32 BM_LEDGER_SUFFIX, number - 1);
	add_file(w, name, "missing", NULL);
}

/* What a later file continues has to be where the one before it ends. */
static int check_joint(struct walk *w, const char *before, const struct bm_scan *scan,
		       struct bm_break *ret, struct bm_error *err)
{
	if (!w->reached || scan->file != w->reached + 1 ||
	    bm_chain_equal(&scan->before, &w->last.head))
		return 0;
	if (scan->before.n > w->last.head.n)
		return bm_scan_broken(ret, err, BM_BREAK_TRUNCATED, before, w->last.lines + 1,
				      "it ends with number %" PRIu64
				      ", and the file behind it goes on from number %" PRIu64,
				      w->last.head.n, scan->before.n);
	return bm_scan_broken(
		ret, err, BM_BREAK_CHANGED, before,
		scan->before.n > w->last.before.n ? scan->before.n - w->last.before.n : 1,
		"the file behind it continues another line number %" PRIu64, scan->before.n);
}

static int open_one(const struct walk *w, int dirfd, const char *name, int *ret_fd, off_t *ret_size,
		    struct bm_error *err)
{
	autoclose fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0)
		return bm_fail_errno(err, errno, "%s", name);
	if (fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return bm_fail(err, EINVAL, "ledger-owner", NULL, "%s is no regular file", name);
	*ret_size = st.st_size;
	r = w->how->ours ? bm_ledger_check_file(fd, name, ret_size, err) : 0;
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

/* An earlier file ends where it ends: no line of it is half written any more. */
static int check_old(const struct bm_scan_of *of, const struct bm_scan *scan, uint32_t number,
		     struct bm_break *ret, struct bm_error *err)
{
	if (scan->torn)
		return bm_scan_broken(ret, err, BM_BREAK_CHANGED, of->name, scan->lines + 1,
				      "half of a line, in a file that has ended");
	if (!scan->lines)
		return bm_scan_broken(ret, err, BM_BREAK_TRUNCATED, of->name, 1,
				      "it is empty, and a file begins with a line");
	if (scan->file != number)
		return bm_scan_broken(ret, err, BM_BREAK_CHANGED, of->name, 1,
				      "it says of itself that it is file %" PRIu32, scan->file);
	return bm_scan_check_marks(of, scan, false, ret, err);
}

static int check_new(struct walk *w, const struct bm_scan_of *of, const struct bm_scan *scan,
		     struct bm_break *ret, struct bm_error *err)
{
	int r = bm_scan_check_marks(of, scan, true, ret, err);

	if (r == 0 && w->has_head)
		r = bm_scan_check_tail(of, scan, &w->head.at, ret, err);
	if (r == 0 && w->has_head && scan->key[0] && strcmp(scan->key, w->head.key))
		r = bm_fail(err, EKEYREJECTED, "ledger-key", BM_CHAIN_REMEDY,
			    BM_HEAD_NAME " is signed with key %.16s..., and the ledger names "
					 "%.16s...",
			    w->head.key, scan->key);
	w->torn = scan->torn;
	if (w->has_head && scan->head.n > w->head.at.n)
		w->unsigned_lines = scan->head.n - w->head.at.n;
	return r;
}

/* A rotation that was cut short has named the newest file twice. */
static bool same_file(int dirfd, const char *name)
{
	struct stat a, b;

	return fstatat(dirfd, name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(dirfd, BM_LEDGER_NAME, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int walk_file(struct walk *w, int dirfd, const struct bm_ledger_entry *e, const char *before,
		     struct bm_break *ret, struct bm_error *err)
{
	bool newest = e->number == UINT32_MAX;
	struct bm_scan_of of = { .name = e->name,
				 .marks = w->marks,
				 .mark_count = w->count,
				 .signed_n = newest ? w->head.at.n : UINT64_MAX };
	struct bm_scan scan = { .file = 1 };
	struct bm_error why = {};
	autoclose fd = -1;
	int r;

	if (e->compressed) {
		add_missing(w, e->number);
		add_file(w, e->name, "compressed", NULL);
		w->reached = e->number;
		w->last = (struct bm_scan){};
		return 0;
	}
	r = open_one(w, dirfd, e->name, &fd, &of.end, &why);
	if (r == -ENOENT && newest && w->has_head)
		return bm_scan_broken(ret, err, BM_BREAK_TRUNCATED, e->name, 1,
				      "it is not there, and number %" PRIu64 " was written",
				      w->head.at.n);
	if (r < 0 && err)
		*err = why;
	of.fd = fd;
	if (r == 0)
		r = bm_scan(&of, &scan, ret, err);
	if (r < 0)
		return r;
	add_missing(w, scan.file);
	if (w->last.lines)
		r = check_joint(w, before, &scan, ret, err);
	if (r == 0)
		r = newest ? check_new(w, &of, &scan, ret, err)
			   : check_old(&of, &scan, e->number, ret, err);
	if (r < 0)
		return r;
	add_file(w, e->name, "whole", &scan);
	if (!w->lines)
		w->first = scan.before.n + 1;
	w->lines += scan.lines;
	if (scan.accepted)
		w->accepted = scan.accepted;
	w->last = scan;
	w->reached = scan.file;
	return 0;
}

static int walk_files(struct walk *w, int dirfd, struct bm_break *ret, struct bm_error *err)
{
	autofree struct bm_ledger_entry *list = NULL;
	const char *before = NULL;
	size_t count = 0;
	int r = bm_ledger_files(dirfd, &list, &count, err);

	for (size_t i = 0; r == 0 && i < count; i++) {
		if (i + 1 < count && same_file(dirfd, list[i].name))
			continue;
		r = walk_file(w, dirfd, &list[i], before, ret, err);
		before = list[i].name;
	}
	return r;
}

static struct json_object *report(const struct walk *w)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_int(json, "lines", (int64_t)w->lines);
	bm_json_add_int(json, "first", (int64_t)w->first);
	bm_json_add_int(json, "last", (int64_t)w->last.head.n);
	bm_json_add_string(json, "hash", w->last.head.hash);
	if (w->has_head) {
		bm_json_add_string(json, "key", w->head.key);
		bm_json_add_string(json, "signed", w->head.time);
		bm_json_add_int(json, "unsigned", (int64_t)w->unsigned_lines);
	}
	if (w->accepted)
		bm_json_add_int(json, "accepted", (int64_t)w->accepted);
	if (w->torn)
		bm_json_add_int(json, "torn", w->torn);
	bm_json_add(json, "files", json_object_get(w->files));
	return json;
}

/* The head first: what is written meanwhile is behind it, never the other way round. */
static int once(int dirfd, const struct bm_verify *how, struct json_object **ret,
		struct bm_break *ret_break, struct bm_head *ret_head, struct bm_error *err)
{
	autofree struct bm_mark *marks = calloc(how->mark_count + 1, sizeof(*marks));
	autojson *files = json_object_new_array();
	struct walk w = { .how = how, .marks = marks, .files = files };
	struct bm_error why = {};
	int slot, r;

	if (!marks || !files)
		return bm_fail_errno(err, ENOMEM, BM_LEDGER_NAME);
	r = bm_ledger_heads(dirfd, how->key, NULL, &w.head, &slot, &why);
	w.has_head = r == 0;
	if (r < 0 && r != -ENODATA) {
		if (err)
			*err = why;
		return r;
	}
	*ret_head = w.head;
	for (size_t i = 0; i < how->mark_count; i++)
		marks[i] = how->marks[i];
	marks[how->mark_count] = (struct bm_mark){ .at = w.head.at, .who = "the signed head" };
	w.count = how->mark_count + 1;
	r = walk_files(&w, dirfd, ret_break, err);
	for (size_t i = 0; i < how->mark_count; i++)
		how->marks[i] = marks[i];
	if (r == 0)
		*ret = report(&w);
	return r;
}

int bm_ledger_verify(int dirfd, const struct bm_verify *how, struct json_object **ret,
		     struct bm_break *ret_break, struct bm_error *err)
{
	struct bm_head before = {}, after = {};
	int r = -ENOSYS, slot;

	if (sodium_init() < 0)
		return bm_fail_errno(err, ENOSYS, "libsodium");
	for (int tries = 0; tries < 3; tries++) {
		struct bm_error why = {};

		r = once(dirfd, how, ret, ret_break, &before, &why);
		if (r < 0 && err)
			*err = why;
		/* Written to, or begun anew, while it was read: what was seen was no one state. */
		if (r == 0 || bm_ledger_heads(dirfd, NULL, NULL, &after, &slot, NULL) < 0 ||
		    bm_chain_equal(&before.at, &after.at))
			break;
	}
	return r;
}
