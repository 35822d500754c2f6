// SPDX-License-Identifier: GPL-2.0-only
#include "audit/ledger_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/lines.h"
#include "base/cleanup.h"
#include "base/step.h"

#define REMEDY_WRITE "make room where the ledger lies; until then nothing can be granted"
#define REMEDY_RESTART "look at its file system, then start gatekeeperd again"

bool bm_ledger_full(int code)
{
	return code == ENOSPC || code == EDQUOT || code == EFBIG;
}

int bm_ledger_sign(struct bm_ledger *l)
{
	char text[BM_HEAD_LEN];
	int r = bm_head_write(
		l->heads, l->slot,
		bm_head_sign(&l->key, &l->head, l->file, bm_now_ns(CLOCK_REALTIME), text));

	if (r < 0) {
		/* One that came to be ahead of the ledger would look as if that had been cut. */
		if (bm_head_write(l->heads, l->slot, "") < 0 && !bm_ledger_full(-r))
			l->broken = true;
		return r;
	}
	l->slot = (l->slot + 1) % BM_HEAD_SLOTS;
	STEP(LEDGER_SIGNED);
	if (l->moved)
		l->moved(l->moved_ctx, &l->head);
	STEP(LEDGER_TOLD);
	return 0;
}

/*
 * The line stands where the whole lines end, over what a power cut left there, so that no moment
 * has neither the torn line nor the record of it.
 */
static int write_line(struct bm_ledger *l, const char *line, size_t len)
{
	off_t end = l->length + (off_t)len;
	ssize_t written = pwrite(l->fd, line, len, l->length);
	struct stat st;

	if (written != (ssize_t)len)
		return written < 0 ? -errno : -ENOSPC;
	if (l->restating)
		return 0;
	/* Not without need: it would give back the room behind the end, too. */
	if (fstat(l->fd, &st) < 0 || (st.st_size != end && ftruncate(l->fd, end) < 0) ||
	    fdatasync(l->fd) < 0)
		return -errno;
	return 0;
}

int bm_ledger_put(struct bm_ledger *l, const char *event, struct json_object *fields,
		  struct bm_error *err)
{
	struct bm_chain next, before = l->head;
	autofree char *line = NULL;
	size_t len;
	int r;

	r = bm_chain_seal(&l->head, bm_now_ns(CLOCK_REALTIME), event, fields, &line, &len, &next,
			  err);
	if (r < 0)
		return r;
	r = write_line(l, line, len);
	STEP(LEDGER_WRITTEN);
	if (r == 0) {
		l->head = next;
		l->length += (off_t)len;
		r = l->restating ? 0 : bm_ledger_sign(l);
	}
	if (r == 0)
		return 0;
	if (l->head.n != before.n)
		l->length -= (off_t)len;
	l->head = before;
	return bm_fail(err, -r, "ledger-write", bm_ledger_full(-r) ? REMEDY_WRITE : NULL,
		       BM_LEDGER_NAME ": could not write number %llu: %s",
		       (unsigned long long)next.n, strerror(-r));
}

/*
 * Room for len bytes and, behind them, for lines about what ends: room that is ours cannot be taken
 * by whoever fills the disk. A file system that can't promise any has to be asked line by line.
 */
static int reserve(struct bm_ledger *l, size_t len)
{
	off_t want = (off_t)len + BM_LEDGER_RESERVE;

	if (l->length + want <= l->reserved)
		return 0;
	if (fallocate(l->fd, FALLOC_FL_KEEP_SIZE, l->length, want) < 0)
		return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
	l->reserved = l->length + want;
	return 0;
}

static void undo(struct bm_ledger *l)
{
	if (ftruncate(l->fd, l->length) < 0 || fdatasync(l->fd) < 0)
		l->broken = true;
	/* The room behind it went with the rest. */
	l->reserved = 0;
	reserve(l, 0);
}

static int usable(struct bm_ledger *l, struct bm_error *err)
{
	struct stat st;

	if (l->broken)
		return bm_fail(err, EIO, "ledger-write", REMEDY_RESTART,
			       BM_LEDGER_NAME ": an earlier write failed and could not be undone");
	if (fstat(l->fd, &st) < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_NAME);
	if ((st.st_nlink == 0 && !l->restating) || st.st_size != l->length)
		return bm_fail(err, EIO, "ledger-changed", BM_CHAIN_REMEDY,
			       BM_LEDGER_NAME " was %s behind gatekeeperd's back",
			       st.st_nlink ? "changed" : "removed");
	return 0;
}

static int append(struct bm_ledger *l, const char *event, struct json_object *fields,
		  struct bm_error *err)
{
	int r = usable(l, err);

	if (r < 0)
		return r;
	r = bm_ledger_put(l, event, fields, err);
	if (r < 0)
		undo(l);
	return r;
}

static void forget(struct bm_ledger *l)
{
	struct bm_owed *owed = l->owed;

	l->owed = owed->next;
	l->owed_count--;
	json_object_put(owed->fields);
	free(owed->event);
	free(owed);
}

static int settle(struct bm_ledger *l, struct bm_error *err)
{
	int r = 0;

	while (r == 0 && l->owed) {
		r = append(l, l->owed->event, l->owed->fields, err);
		if (r == 0)
			forget(l);
	}
	return r;
}

int bm_ledger_append(struct bm_ledger *l, const char *event, struct json_object *fields,
		     struct bm_error *err)
{
	int r;

	if (l->restating)
		return append(l, event, fields, err);
	r = settle(l, err);
	if (r == 0)
		r = usable(l, err);
	if (r < 0)
		return r;
	/* A line has at most as much. */
	r = reserve(l, BM_LINE_MAX);
	if (r < 0)
		return bm_fail(err, -r, "ledger-full", REMEDY_WRITE,
			       BM_LEDGER_NAME ": no room for this and for what will end: %s",
			       strerror(-r));
	return append(l, event, fields, err);
}

static int remember(struct bm_ledger *l, const char *event, struct json_object *fields)
{
	struct bm_owed **end = &l->owed, *owed = calloc(1, sizeof(*owed));
	char time[BM_TIME_LEN];

	if (owed)
		owed->event = strdup(event);
	if (owed && (!fields || json_object_deep_copy(fields, &owed->fields, NULL) == 0) &&
	    !owed->fields)
		owed->fields = json_object_new_object();
	if (!owed || !owed->event || !owed->fields) {
		if (owed)
			free(owed->event);
		free(owed);
		return -ENOMEM;
	}
	bm_json_add_string(owed->fields, "happened",
			   bm_time_format(bm_now_ns(CLOCK_REALTIME), time));
	while (*end)
		end = &(*end)->next;
	*end = owed;
	l->owed_count++;
	return 1;
}

int bm_ledger_owe(struct bm_ledger *l, const char *event, struct json_object *fields,
		  struct bm_error *err)
{
	struct bm_error why = {};
	int r = settle(l, &why);

	if (r == 0)
		r = append(l, event, fields, &why);
	/* A disk that has room again gets its reserve back. */
	if (r == 0)
		reserve(l, 0);
	else if (bm_ledger_full(-r))
		r = remember(l, event, fields);
	else if (err)
		*err = why;
	return r;
}

size_t bm_ledger_owed(const struct bm_ledger *l)
{
	return l->owed_count;
}

size_t bm_ledger_settle(struct bm_ledger *l)
{
	settle(l, NULL);
	return l->owed_count;
}

int bm_ledger_begun(struct bm_ledger *l, off_t torn, bool fresh, struct bm_error *err)
{
	autojson *fields = fresh ? bm_ledger_begin(l, NULL) : json_object_new_object();
	int r;

	if (!fields)
		return bm_fail_errno(err, ENOMEM, BM_LEDGER_NAME);
	if (torn)
		bm_json_add_int(fields, "bytes", torn);
	else if (!fresh)
		bm_json_add_string(fields, "key", l->key.id);
	r = bm_ledger_put(l, torn ? "torn" : fresh ? "begin" : "key", fields, err);
	if (r < 0)
		undo(l);
	return r < 0 && torn && bm_ledger_full(-r) ? remember(l, "torn", fields) : r;
}

int bm_ledger_reserve(struct bm_ledger *l)
{
	return reserve(l, 0);
}

void bm_ledger_watch(struct bm_ledger *l, bm_ledger_moved_fn fn, void *ctx)
{
	l->moved = fn;
	l->moved_ctx = ctx;
	fn(ctx, &l->head);
}

const struct bm_chain *bm_ledger_head(const struct bm_ledger *l)
{
	return &l->head;
}

off_t bm_ledger_size(const struct bm_ledger *l)
{
	return l->length;
}

uint32_t bm_ledger_file(const struct bm_ledger *l)
{
	return l->file;
}

int bm_ledger_replay(struct bm_ledger *l, bm_ledger_fn fn, void *ctx, struct bm_error *err)
{
	struct bm_scan_of of = { .fd = l->fd,
				 .end = l->length,
				 .name = BM_LEDGER_NAME,
				 .signed_n = l->head.n,
				 .fn = fn,
				 .ctx = ctx };
	struct bm_scan scan;
	int r = bm_scan(&of, &scan, NULL, err);

	if (r < 0)
		return r;
	if (!bm_chain_equal(&scan.head, &l->head))
		return bm_fail(err, EIO, "ledger-changed", BM_CHAIN_REMEDY,
			       BM_LEDGER_NAME " was changed behind gatekeeperd's back");
	return 0;
}

void bm_ledger_close(struct bm_ledger *l)
{
	if (!l)
		return;
	while (l->owed)
		forget(l);
	bm_key_done(&l->key);
	bm_close(l->heads);
	bm_close(l->fd);
	bm_close(l->dir);
	free(l);
}
