// SPDX-License-Identifier: GPL-2.0-only
/* The directory of receipts: written whole or not at all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/receipts_internal.h"
#include "base/cleanup.h"
#include "base/io.h"

#define RULE "receipt"
#define NEW_FILE "receipt.new"
/* Who puts more files there than we keep must not keep us from starting. */
#define LIST_MAX (2 * BM_RECEIPTS_ALL)

static int open_dir(int state_dir, bool make, int *ret)
{
	int fd;

	if (make && mkdirat(state_dir, BM_RECEIPT_DIR, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(state_dir, BM_RECEIPT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

static int put_file(int dir, const char *name, const char *text, size_t len)
{
	autoclose fd = -1;
	int r;

	if (unlinkat(dir, NEW_FILE, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(dir, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = bm_write_all(fd, text, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dir, NEW_FILE, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, NEW_FILE, 0);
	return r == 0 && fsync(dir) < 0 ? -errno : r;
}

static int newer_first(const void *a, const void *b)
{
	const struct bm_receipt_entry *x = a, *y = b;

	if (x->written != y->written)
		return (x->written < y->written) - (x->written > y->written);
	return (x->id < y->id) - (x->id > y->id);
}

int receipts_list_dir(int fd, struct bm_receipt_entry **ret, size_t *ret_count)
{
	autofree struct bm_receipt_entry *list = calloc(LIST_MAX, sizeof(*list));
	autoclosedir DIR *dir = NULL;
	struct dirent *entry;
	size_t count = 0;
	int copy;

	if (!list)
		return -ENOMEM;
	copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir)
		return -errno;
	while (count < LIST_MAX && (entry = readdir(dir))) {
		struct bm_receipt_entry *e = &list[count];
		char name[BM_RECEIPT_NAME_LEN];
		struct stat st;

		/* Only what we would have called it ourselves. */
		if (bm_receipt_name_parse(entry->d_name, e->bench, &e->id) < 0 ||
		    strcmp(bm_receipt_name(e->bench, e->id, name), entry->d_name) ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		e->size = (uint64_t)st.st_size;
		e->written = st.st_mtim.tv_sec;
		count++;
	}
	qsort(list, count, sizeof(*list), newer_first);
	*ret = TAKE_PTR(list);
	*ret_count = count;
	return 0;
}

int bm_receipt_put(int state_dir, const char *name, const char *text, size_t len, size_t each,
		   struct bm_error *err)
{
	autoclose dir = -1;
	int r = open_dir(state_dir, true, &dir);

	if (r == 0)
		r = put_file(dir, name, text, len);
	if (r < 0)
		return bm_fail_errno(err, -r, "write " BM_RECEIPT_DIR "/%s", name);
	receipts_prune(state_dir, dir, name, each);
	return 0;
}

int bm_receipt_open(int state_dir, const char *name, int *ret_fd, struct bm_error *err)
{
	autoclose dir = -1, fd = -1;
	int r = open_dir(state_dir, false, &dir);
	struct stat st;

	if (r == 0) {
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		r = fd < 0 ? -errno : 0;
	}
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r < 0)
		return bm_fail_errno(err, -r, "receipt %s", name);
	if (!S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != geteuid()) || st.st_mode & 022)
		return bm_fail(err, EPERM, RULE, "find out who put it there",
			       "receipt %s is no file of root's that others can't write", name);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int bm_receipt_read(int state_dir, const char *name, char **ret_text, size_t *ret_len,
		    struct bm_error *err)
{
	autoclose fd = -1;
	int r = bm_receipt_open(state_dir, name, &fd, err);

	if (r < 0)
		return r;
	r = bm_read_fd(fd, BM_RECEIPT_MAX, ret_text, ret_len);
	return r < 0 ? bm_fail_errno(err, -r, "receipt %s", name) : 0;
}

uint32_t bm_receipt_owner(int state_dir, const struct bm_receipt_entry *entry)
{
	char wanted[160], found[sizeof(wanted) + 32], name[BM_RECEIPT_NAME_LEN], *end;
	unsigned long owner;
	autoclose fd = -1;
	ssize_t n;
	int len = snprintf(wanted, sizeof(wanted),
			   "{\"schema\":\"" BM_RECEIPT_SCHEMA
			   "\",\"bench\":{\"name\":\"%s\",\"id\":%u,\"owner\":",
			   entry->bench, entry->id);

	if (bm_receipt_open(state_dir, bm_receipt_name(entry->bench, entry->id, name), &fd, NULL) <
	    0)
		return 0;
	n = read(fd, found, sizeof(found) - 1);
	found[n > 0 ? n : 0] = '\0';
	if (strncmp(found, wanted, (size_t)len) || !strchr("123456789", found[len]) || !found[len])
		return 0;
	owner = strtoul(found + len, &end, 10);
	return *end == ',' && owner < UINT32_MAX ? (uint32_t)owner : 0;
}

int bm_receipts_list(int state_dir, struct bm_receipt_entry **ret, size_t *ret_count,
		     struct bm_error *err)
{
	autoclose dir = -1;
	int r = open_dir(state_dir, false, &dir);

	*ret = NULL;
	*ret_count = 0;
	if (r == 0)
		r = receipts_list_dir(dir, ret, ret_count);
	return r < 0 && r != -ENOENT ? bm_fail_errno(err, -r, BM_RECEIPT_DIR) : 0;
}
