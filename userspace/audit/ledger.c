// SPDX-License-Identifier: GPL-2.0-only
#include "audit/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/chain.h"
#include "audit/lines.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"

#define REMEDY_TORN "start gatekeeperd: it cuts the line off and records that"
#define REMEDY_WRITE "make room where the ledger lies; until then nothing can be granted"
#define REMEDY_RESTART "look at its file system, then start gatekeeperd again"

struct bm_ledger {
	int fd;
	off_t length; /* of the whole lines; what lies behind is not ours */
	struct bm_chain head;
	bool broken;
};

struct scan {
	struct bm_chain head;
	off_t length;
	off_t torn; /* bytes of a torn last line */
};

static int scan_line(struct scan *scan, const char *line, size_t len, bm_ledger_fn fn, void *ctx,
		     struct bm_error *err)
{
	autojson *json = NULL;
	char what[64];
	int r;

	snprintf(what, sizeof(what), BM_LEDGER_NAME " line %llu",
		 (unsigned long long)scan->head.n + 1);
	if (!bm_chain_sealed(line, len))
		return bm_fail(err, EBADMSG, "ledger-hash", BM_CHAIN_REMEDY,
			       "%s: damaged, its hash is not that of its content", what);
	r = bm_chain_follow(&scan->head, line, len, what, &json, err);
	if (r < 0 || !fn)
		return r;
	return fn(ctx, scan->head.n, bm_json_string(json, "event"), json, err);
}

static int scan_file(int fd, off_t end, bm_ledger_fn fn, void *ctx, struct scan *ret,
		     struct bm_error *err)
{
	struct scan scan = {};
	autolines lines = {};
	const char *line;
	bool whole;
	size_t len;
	int r;

	bm_chain_start(&scan.head);
	r = bm_lines_open(&lines, fd, end);
	if (r < 0)
		return bm_fail_errno(err, -r, BM_LEDGER_NAME);
	while ((r = bm_lines_next(&lines, &line, &len, &whole)) > 0) {
		if ((!whole || !bm_chain_sealed(line, len)) && lines.next == end &&
		    bm_chain_torn(line, len)) {
			scan.torn = end - scan.length;
			break;
		}
		r = whole ? scan_line(&scan, line, len, fn, ctx, err)
			  : bm_fail(err, EBADMSG, "ledger-hash", BM_CHAIN_REMEDY,
				    BM_LEDGER_NAME " line %llu: damaged behind its hash",
				    (unsigned long long)scan.head.n + 1);
		if (r < 0)
			return r;
		scan.length = lines.next;
	}
	if (r == -EFBIG)
		return bm_fail(err, EBADMSG, "ledger-line", BM_CHAIN_REMEDY,
			       BM_LEDGER_NAME " line %llu: longer than %d bytes",
			       (unsigned long long)scan.head.n + 1, BM_LINE_MAX);
	if (r < 0)
		return bm_fail_errno(err, -r, BM_LEDGER_NAME);
	*ret = scan;
	return 0;
}

/* A ledger that others can write, or that is no plain file, proves nothing. */
static int check_file(int fd, off_t *ret_size, struct bm_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_NAME);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return bm_fail(err, EPERM, "ledger-owner",
			       "move it aside and restore the right one",
			       BM_LEDGER_NAME " is not a file of uid %u that others can't write",
			       geteuid());
	*ret_size = st.st_size;
	return 0;
}

static bool full(int code)
{
	return code == ENOSPC || code == EDQUOT || code == EFBIG;
}

/*
 * Writes the line where the whole lines end, over what a power cut left there, so that no moment
 * has neither the torn line nor the record of it. When this fails, the bytes behind l->length are
 * undefined.
 */
static int put(struct bm_ledger *l, const char *event, struct json_object *fields,
	       struct bm_error *err)
{
	autofree char *line = NULL;
	struct bm_chain next;
	ssize_t written;
	size_t len;
	int r;

	r = bm_chain_seal(&l->head, bm_now_ns(CLOCK_REALTIME), event, fields, &line, &len, &next,
			  err);
	if (r < 0)
		return r;
	written = pwrite(l->fd, line, len, l->length);
	r = written == (ssize_t)len ? 0 : written < 0 ? -errno : -ENOSPC;
	if (r == 0 && (ftruncate(l->fd, l->length + written) < 0 || fdatasync(l->fd) < 0))
		r = -errno;
	if (r < 0)
		return bm_fail(err, -r, "ledger-write", full(-r) ? REMEDY_WRITE : NULL,
			       BM_LEDGER_NAME ": could not write line %llu: %s",
			       (unsigned long long)next.n, strerror(-r));
	l->length += written;
	l->head = next;
	return 0;
}

static int put_torn(struct bm_ledger *l, off_t bytes, struct bm_error *err)
{
	autojson *fields = json_object_new_object();

	if (!fields)
		return bm_fail_errno(err, ENOMEM, BM_LEDGER_NAME);
	bm_json_add_int(fields, "bytes", bytes);
	return put(l, "torn", fields, err);
}

int bm_ledger_open(int dirfd, struct bm_ledger **ret, struct bm_error *err)
{
	autoledger *l = calloc(1, sizeof(*l));
	struct scan scan;
	off_t size;
	int r;

	if (!l)
		return bm_fail_errno(err, ENOMEM, BM_LEDGER_NAME);
	l->fd = -1;
	if (sodium_init() < 0)
		return bm_fail_errno(err, ENOSYS, "libsodium");
	l->fd = openat(dirfd, BM_LEDGER_NAME,
		       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (l->fd < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_NAME);
	if (flock(l->fd, LOCK_EX | LOCK_NB) < 0)
		return bm_fail(err, errno == EWOULDBLOCK ? EBUSY : errno, "ledger-lock",
			       "stop the other gatekeeperd",
			       BM_LEDGER_NAME " is in use by another process");
	r = check_file(l->fd, &size, err);
	if (r < 0)
		return r;
	/* Its name must outlive a power cut as its lines do. */
	if (fsync(dirfd) < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_DIR);
	r = scan_file(l->fd, size, NULL, NULL, &scan, err);
	if (r < 0)
		return r;
	l->length = scan.length;
	l->head = scan.head;
	r = scan.torn ? put_torn(l, scan.torn, err) : 0;
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}

void bm_ledger_close(struct bm_ledger *ledger)
{
	if (!ledger)
		return;
	bm_close(ledger->fd);
	free(ledger);
}

int bm_ledger_append(struct bm_ledger *ledger, const char *event, struct json_object *fields,
		     struct bm_error *err)
{
	struct stat st;
	int r;

	if (ledger->broken)
		return bm_fail(err, EIO, "ledger-write", REMEDY_RESTART,
			       BM_LEDGER_NAME ": an earlier write failed and could not be undone");
	if (fstat(ledger->fd, &st) < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_NAME);
	if (st.st_nlink == 0 || st.st_size != ledger->length)
		return bm_fail(err, EIO, "ledger-changed", BM_CHAIN_REMEDY,
			       BM_LEDGER_NAME " was %s behind gatekeeperd's back",
			       st.st_nlink ? "changed" : "removed");
	r = put(ledger, event, fields, err);
	if (r < 0 && (ftruncate(ledger->fd, ledger->length) < 0 || fdatasync(ledger->fd) < 0))
		ledger->broken = true;
	return r;
}

const struct bm_chain *bm_ledger_head(const struct bm_ledger *ledger)
{
	return &ledger->head;
}

int bm_ledger_replay(struct bm_ledger *ledger, bm_ledger_fn fn, void *ctx, struct bm_error *err)
{
	struct scan scan;
	off_t end = ledger->length;
	int r;

	r = scan_file(ledger->fd, end, fn, ctx, &scan, err);
	if (r < 0)
		return r;
	if (scan.length != end)
		return bm_fail(err, EIO, "ledger-changed", BM_CHAIN_REMEDY,
			       BM_LEDGER_NAME " was changed behind gatekeeperd's back");
	return 0;
}

int bm_ledger_verify(int dirfd, uint64_t *ret_count, struct bm_error *err)
{
	autoclose fd =
		openat(dirfd, BM_LEDGER_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct scan scan;
	off_t size;
	int r;

	if (fd < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_NAME);
	r = check_file(fd, &size, err);
	if (r < 0)
		return r;
	r = scan_file(fd, size, NULL, NULL, &scan, err);
	if (r < 0)
		return r;
	if (scan.torn)
		return bm_fail(err, EBADMSG, "ledger-torn", REMEDY_TORN,
			       BM_LEDGER_NAME
			       " line %llu: half written, or its hash is not that of "
			       "its content",
			       (unsigned long long)scan.head.n + 1);
	*ret_count = scan.head.n;
	return 0;
}
