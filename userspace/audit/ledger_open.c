// SPDX-License-Identifier: GPL-2.0-only
/* Opening the ledger: what is there, against what was signed and what the kernel keeps. */
#include "audit/ledger_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

int bm_ledger_check_file(int fd, const char *name, off_t *ret_size, struct bm_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "%s", name);
	/* A ledger that others can write, or that is no plain file, proves nothing. */
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return bm_fail(
			err, EPERM, "ledger-owner", "move it aside and restore the right one",
			"%s is not a file of uid %u that others can't write", name, geteuid());
	*ret_size = st.st_size;
	return 0;
}

/* A lock on the file that has the name: it may have got another between opening and locking. */
static int lock(int dirfd, int fd, bool *ret_again, struct bm_error *err)
{
	struct stat ours, named;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return bm_fail(err, errno == EWOULDBLOCK ? EBUSY : errno, "ledger-lock",
			       "stop the other gatekeeperd",
			       BM_LEDGER_NAME " is in use by another process");
	if (fstat(fd, &ours) < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_NAME);
	*ret_again = fstatat(dirfd, BM_LEDGER_NAME, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
		     named.st_ino != ours.st_ino || named.st_dev != ours.st_dev;
	return 0;
}

int bm_ledger_open_file(int dirfd, int flags, int *ret_fd, off_t *ret_size, struct bm_error *err)
{
	bool again = true;

	while (again) {
		autoclose fd = openat(dirfd, BM_LEDGER_NAME,
				      O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
		int r;

		if (fd < 0)
			return bm_fail_errno(err, errno, BM_LEDGER_NAME);
		r = lock(dirfd, fd, &again, err);
		if (r == 0 && !again)
			r = bm_ledger_check_file(fd, BM_LEDGER_NAME, ret_size, err);
		if (r < 0)
			return r;
		if (!again)
			*ret_fd = TAKE_FD(fd);
	}
	return 0;
}

int bm_ledger_key(int dirfd, bool make, struct bm_key *ret, bool *ret_made, struct bm_error *err)
{
	static const struct bm_key_file file = {
		.name = BM_LEDGER_KEY,
		.rule = "ledger-key",
		.remedy = "restore it from a copy, or remove it and go on with another one: "
			  "gatekeeperd --accept-ledger",
		.none = BM_LEDGER_KEY " is missing, with which the ledger has been signed",
		.none_remedy = "restore it from a copy, or go on with another one: gatekeeperd "
			       "--accept-ledger",
	};

	return bm_key_open(dirfd, &file, geteuid(), make, ret, ret_made, err);
}

int bm_ledger_heads(int dirfd, const char *key, int *ret_fd, struct bm_head *ret, int *ret_slot,
		    struct bm_error *err)
{
	autoclose fd = openat(dirfd, BM_HEAD_NAME,
			      (ret_fd ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct bm_head head;
	int slot, r;

	if (fd < 0)
		return bm_fail_errno(err, errno == ENOENT ? ENODATA : errno, BM_HEAD_NAME);
	r = bm_head_read(fd, &head, &slot, err);
	if (r == 0 && key && strcmp(key, head.key))
		r = bm_fail(err, EKEYREJECTED, "ledger-key", BM_CHAIN_REMEDY,
			    BM_HEAD_NAME " is signed with key %.16s..., not with %.16s...",
			    head.key, key);
	if (r < 0)
		return r;
	*ret = head;
	*ret_slot = slot;
	if (ret_fd)
		*ret_fd = TAKE_FD(fd);
	return 0;
}

struct json_object *bm_ledger_begin(const struct bm_ledger *l, struct json_object *fields)
{
	struct json_object *json = json_object_new_object(), *previous;
	char text[BM_HEAD_LEN], name[64];

	if (!json)
		return NULL;
	bm_json_add_int(json, "file", l->file);
	bm_json_add_string(json, "key", l->key.id);
	if (fields) {
		json_object_object_foreach(fields, key, value)
			bm_json_add(json, key, json_object_get(value));
	}
	if (l->file < 2)
		return json;
	snprintf(name, sizeof(name), BM_LEDGER_OLD "%" PRIu32 BM_LEDGER_SUFFIX, l->file - 1);
	bm_head_sign(&l->key, &l->head, l->file - 1, bm_now_ns(CLOCK_REALTIME), text);
	previous = json_object_new_object();
	bm_json_add_string(previous, "name", name);
	bm_json_add(previous, "head", json_tokener_parse(text));
	bm_json_add(json, "previous", previous);
	return json;
}

/* What was never signed: nothing, one line that a crash came behind, or a ledger older than heads.
 */
static int check_unsigned(const struct bm_scan_of *of, const struct bm_scan *scan,
			  struct bm_error *err)
{
	if (scan->head.n <= 1 || !scan->key[0])
		return 0;
	return bm_scan_broken(NULL, err, BM_BREAK_REMOVED, BM_HEAD_NAME, 1,
			      "it is gone, and with it how far %s was signed", of->name);
}

static int check(const struct bm_scan_of *of, const struct bm_scan *scan,
		 const struct bm_head *head, bool has_head, struct bm_error *err)
{
	int r = bm_scan_check_marks(of, scan, true, NULL, err);

	if (r < 0)
		return r;
	return has_head ? bm_scan_check_tail(of, scan, &head->at, NULL, err)
			: check_unsigned(of, scan, err);
}

static int examine(struct bm_ledger *l, const struct bm_chain *pinned, bool has_head,
		   const struct bm_head *head, struct bm_scan *scan, struct bm_error *err)
{
	struct bm_mark marks[2] = { { head->at, "the signed head", false, false },
				    { .who = "the head in the kernel" } };
	struct bm_scan_of of = { .fd = l->fd,
				 .name = BM_LEDGER_NAME,
				 .marks = marks,
				 .mark_count = 2,
				 .signed_n = head->at.n };
	struct bm_error why = {};
	off_t size = 0;
	int r;

	if (pinned)
		marks[1].at = *pinned;
	bm_chain_start(&scan->head);
	r = bm_ledger_open_file(l->dir, 0, &l->fd, &size, &why);
	of.fd = l->fd;
	of.end = size;
	if (r == 0)
		r = bm_scan(&of, scan, NULL, &why);
	if (r < 0 && r != -ENOENT) {
		if (err)
			*err = why;
		return r;
	}
	return check(&of, scan, head, has_head, err);
}

static int make_files(struct bm_ledger *l, bool has_head, struct bm_error *err)
{
	off_t size;
	int r = l->fd < 0 ? bm_ledger_open_file(l->dir, O_CREAT, &l->fd, &size, err) : 0;

	if (r == 0 && !has_head) {
		l->heads = openat(l->dir, BM_HEAD_NAME,
				  O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
		if (l->heads < 0)
			return bm_fail_errno(err, errno, BM_HEAD_NAME);
	}
	/* Their names must outlive a power cut as their lines do. */
	if (r == 0 && fsync(l->dir) < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_DIR);
	return r;
}

static int go_on(struct bm_ledger *l, const struct bm_scan *scan, const struct bm_head *head,
		 struct bm_error *err)
{
	int r = 0;

	if (scan->torn && scan->lines)
		r = bm_ledger_begun(l, scan->torn, false, err);
	if (r >= 0 && !scan->lines)
		r = bm_ledger_begun(l, 0, true, err);
	else if (r >= 0 && !scan->key[0])
		r = bm_ledger_begun(l, 0, false, err);
	else if (r == 0 && !bm_chain_equal(&head->at, &l->head)) {
		r = bm_ledger_sign(l);
		if (r < 0)
			bm_fail_errno(err, -r, BM_HEAD_NAME);
	}
	return r < 0 ? r : 0;
}

int bm_ledger_open(int dirfd, const struct bm_chain *pinned, struct bm_ledger **ret,
		   struct bm_error *err)
{
	autoledger *l = calloc(1, sizeof(*l));
	struct bm_head head = {};
	struct bm_scan scan = { .file = 1 };
	struct bm_error why = {};
	bool has_head;
	int r;

	if (!l)
		return bm_fail_errno(err, ENOMEM, BM_LEDGER_NAME);
	l->fd = l->heads = -1;
	if (sodium_init() < 0)
		return bm_fail_errno(err, ENOSYS, "libsodium");
	l->dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	if (l->dir < 0)
		return bm_fail_errno(err, errno, BM_LEDGER_DIR);
	r = bm_ledger_heads(dirfd, NULL, &l->heads, &head, &l->slot, &why);
	has_head = r == 0;
	if (r < 0 && r != -ENODATA) {
		if (err)
			*err = why;
		return r;
	}
	r = examine(l, pinned, has_head, &head, &scan, err);
	if (r == 0)
		r = bm_ledger_key(dirfd, !has_head, &l->key, NULL, err);
	if (r == 0 && has_head && strcmp(head.key, l->key.id))
		r = bm_ledger_heads(dirfd, l->key.id, NULL, &head, &l->slot, err);
	if (r == 0 && scan.key[0] && strcmp(scan.key, l->key.id))
		r = bm_fail(err, EKEYREJECTED, "ledger-key", BM_CHAIN_REMEDY,
			    BM_LEDGER_KEY " is not the key that " BM_LEDGER_NAME " names, %.16s...",
			    scan.key);
	if (r == 0)
		r = make_files(l, has_head, err);
	if (r < 0)
		return r;
	l->length = scan.length;
	l->head = scan.head;
	l->file = scan.file;
	r = go_on(l, &scan, &head, err);
	if (r < 0)
		return r;
	/* Without it nothing is granted, and that is said then. */
	bm_ledger_reserve(l);
	*ret = TAKE_PTR(l);
	return 0;
}
