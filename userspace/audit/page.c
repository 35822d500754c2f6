// SPDX-License-Identifier: GPL-2.0-only
#include "audit/page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/files.h"
#include "audit/ledger.h"
#include "audit/lines.h"
#include "base/cleanup.h"
#include "base/json.h"

#define PAGE_BYTES (1 << 20) /* of a file that are read for one page */
#define FILE_SHIFT 40
#define OFFSET_MASK ((1ll << FILE_SHIFT) - 1)

struct reading {
	const struct bm_page *page;
	struct json_object *list;
	size_t used;
};

/* Without what makes it long. */
static struct json_object *shortened(struct json_object *json, size_t len)
{
	static const char *const keys[] = { "n",        "time",  "event", "bench",
					    "bench_id", "owner", "hash" };
	struct json_object *less = json_object_new_object(), *value;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_object_object_get_ex(json, keys[i], &value))
			bm_json_add(less, keys[i], json_object_get(value));
	bm_json_add_int(less, "left_out", (int64_t)len);
	return less;
}

/* 1: it has no room any more, and begins the next page. */
static int take(struct reading *r, const char *line, size_t len)
{
	autojson *json = NULL;
	const char *bench;
	int64_t n, owner = 0;

	if (bm_json_parse(line, len, "line", &json, NULL) < 0 || bm_json_int(json, "n", &n) < 0)
		return 0;
	bench = bm_json_string(json, "bench");
	bm_json_int(json, "owner", &owner);
	if (r->page->owner && owner != r->page->owner)
		return 0;
	if ((uint64_t)n <= r->page->since ||
	    (r->page->bench && (!bench || strcmp(bench, r->page->bench))))
		return 0;
	if (r->used && r->used + len > r->page->room)
		return 1;
	r->used += len;
	json_object_array_add(r->list,
			      len > r->page->room ? shortened(json, len) : json_object_get(json));
	return 0;
}

/* *at moves on; 1: the page is full, 0: the file has ended. */
static int read_file(struct reading *r, int fd, off_t size, off_t *at, struct bm_error *err)
{
	off_t limit = *at + PAGE_BYTES;
	autolines lines = {};
	const char *line;
	bool whole;
	size_t len;
	int got, full = 0;

	got = bm_lines_open(&lines, fd, size);
	if (got < 0)
		return bm_fail_errno(err, -got, BM_LEDGER_NAME);
	lines.next = *at;
	while (!full && (got = bm_lines_next(&lines, &line, &len, &whole)) > 0 && whole) {
		full = take(r, line, len);
		if (!full)
			*at = lines.next;
		full |= *at >= limit;
	}
	if (got < 0)
		return bm_fail_errno(err, -got, BM_LEDGER_NAME);
	return full;
}

static int open_file(int dirfd, uint32_t number, uint32_t newest, int *ret_fd, off_t *ret_size,
		     struct bm_error *err)
{
	char name[64] = BM_LEDGER_NAME;
	struct stat st;

	if (number != newest)
		snprintf(name, sizeof(name), BM_LEDGER_OLD "%" PRIu32 BM_LEDGER_SUFFIX, number);
	*ret_fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*ret_fd < 0 || fstat(*ret_fd, &st) < 0)
		return bm_fail_errno(err, errno, "%s", name);
	*ret_size = st.st_size;
	return 0;
}

/* The first that can be read from number on. */
static int next_file(int dirfd, uint32_t number, uint32_t newest, uint32_t *ret,
		     struct bm_error *err)
{
	autofree struct bm_ledger_entry *list = NULL;
	size_t count;
	int r = bm_ledger_files(dirfd, &list, &count, err);

	if (r < 0)
		return r;
	*ret = newest;
	for (size_t i = count; i > 0; i--)
		if (list[i - 1].number >= number && list[i - 1].number < newest &&
		    !list[i - 1].compressed)
			*ret = list[i - 1].number;
	return 0;
}

int bm_ledger_page(int dirfd, const struct bm_page *page, struct json_object **ret,
		   int64_t *ret_next, struct bm_error *err)
{
	autojson *list = json_object_new_array();
	struct reading reading = { page, list, 0 };
	uint32_t number = (uint32_t)(page->from >> FILE_SHIFT);
	off_t at = page->from & OFFSET_MASK, size = 0;
	autoclose fd = -1;
	int r = 0;

	if (page->from < 0 || page->from >> FILE_SHIFT > page->newest)
		return bm_fail(err, EINVAL, "protocol", NULL, "the ledger has no such offset");
	if (!number)
		r = next_file(dirfd, 1, page->newest, &number, err);
	if (r == 0)
		r = open_file(dirfd, number, page->newest, &fd, &size, err);
	if (r == 0)
		r = read_file(&reading, fd, size, &at, err);
	if (r < 0)
		return r;
	*ret_next = 0;
	if (r == 0 && number < page->newest) {
		r = next_file(dirfd, number + 1, page->newest, &number, err);
		if (r < 0)
			return r;
		*ret_next = (int64_t)number << FILE_SHIFT;
	} else if (r == 1) {
		*ret_next = ((int64_t)number << FILE_SHIFT) | at;
	}
	*ret = TAKE_PTR(list);
	return 0;
}
