/* SPDX-License-Identifier: GPL-2.0-only */
/* A ledger of a test's own, and its files as bytes. */
#ifndef BENCHMON_LEDGER_LAB_H
#define BENCHMON_LEDGER_LAB_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "audit/head.h"
#include "audit/ledger.h"
#include "audit/verify.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"

#define UNUSED __attribute__((unused))

static int dir = -1;
static char dir_path[64];

static UNUSED void removed(const char *name)
{
	unlinkat(dir, name, 0);
}

/* All that is there, but for the key when it is to stay. */
static UNUSED void emptied(bool key_too)
{
	autoclosedir DIR *all = opendir(dir_path);
	struct dirent *entry;

	while (all && (entry = readdir(all)))
		if (entry->d_name[0] != '.' && (key_too || strcmp(entry->d_name, BM_LEDGER_KEY)))
			removed(entry->d_name);
}

static UNUSED int setup(void **state)
{
	(void)state;
	snprintf(dir_path, sizeof(dir_path), "%s", "/dev/shm/benchmon-ledger-XXXXXX");
	if (!mkdtemp(dir_path)) {
		snprintf(dir_path, sizeof(dir_path), "%s", "/tmp/benchmon-ledger-XXXXXX");
		if (!mkdtemp(dir_path))
			return -1;
	}
	dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : 0;
}

static UNUSED int teardown(void **state)
{
	(void)state;
	emptied(true);
	bm_close(dir);
	return rmdir(dir_path);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#define REFUSED(number, call)                                                                      \
	do {                                                                                       \
		struct bm_error err_ = {}, *err = &err_;                                           \
		int r_ = call;                                                                     \
		if (r_ != -(number))                                                               \
			fail_msg("%d, not %d: %s", r_, -(number), err_.message);                   \
		assert_int_equal(err_.code, number);                                               \
		assert_true(err_.message[0]);                                                      \
	} while (0)

static UNUSED struct json_object *fields(const char *key, const char *value)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, key, value);
	return json;
}

static UNUSED void append(struct bm_ledger *ledger, const char *event, const char *value)
{
	autojson *json = fields("value", value);
	struct bm_error err = {};

	if (bm_ledger_append(ledger, event, json, &err) != 0)
		fail_msg("%s", err.message);
}

static UNUSED struct bm_ledger *opened(void)
{
	struct bm_ledger *ledger = NULL;
	struct bm_error err = {};

	if (bm_ledger_open(dir, NULL, &ledger, &err) != 0)
		fail_msg("%s", err.message);
	return ledger;
}

static UNUSED void write_file(const char *name, const char *data, size_t len)
{
	autoclose fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(bm_write_all(fd, data, len), 0);
}

/* The compiler takes what it returns for a pointer into itself when it is inlined. */
static UNUSED __attribute__((noinline)) char *read_dir(const char *name, size_t *ret_len)
{
	char *data = NULL;

	if (bm_read_file(dir, name, 64 << 20, &data, ret_len) < 0)
		fail_msg("%s can't be read", name);
	return data;
}

/* Makes a ledger of count lines; starts[i] is the offset of line i + 1, the last one the end. */
static UNUSED char *make_ledger(int count, size_t *starts)
{
	struct bm_ledger *ledger;
	char *data = NULL, name[32];
	size_t len = 0;

	emptied(true);
	ledger = opened();
	for (int i = 1; i < count; i++) {
		snprintf(name, sizeof(name), "event-%d", i + 1);
		append(ledger, name, "a \"quoted\" {value}: \\ \n");
	}
	bm_ledger_close(ledger);
	assert_int_equal(bm_read_file(dir, BM_LEDGER_NAME, 1 << 20, &data, &len), 0);
	starts[0] = 0;
	for (int i = 0; i < count; i++)
		starts[i + 1] = (size_t)(strchr(data + starts[i], '\n') + 1 - data);
	assert_int_equal(starts[count], len);
	return data;
}

struct seen {
	uint64_t count, first;
	char event[32];
	int64_t bytes;
};

static UNUSED int see(void *ctx, uint64_t n, const char *event, struct json_object *json,
		      struct bm_error *err)
{
	struct seen *seen = ctx;

	(void)err;
	if (!seen->count++)
		seen->first = n;
	assert_int_equal(n, seen->first + seen->count - 1);
	snprintf(seen->event, sizeof(seen->event), "%s", event);
	seen->bytes = -1;
	bm_json_int(json, "bytes", &seen->bytes);
	return 0;
}

static UNUSED struct seen replayed(struct bm_ledger *ledger)
{
	struct seen seen = {};

	assert_int_equal(bm_ledger_replay(ledger, see, &seen, NULL), 0);
	return seen;
}

static UNUSED int verify(struct json_object **ret, struct bm_break *ret_break, struct bm_error *err)
{
	struct bm_verify how = { .ours = true };

	return bm_ledger_verify(dir, &how, ret, ret_break, err);
}

/* It verifies; how many lines it has, and what key of the report says. */
static UNUSED int64_t verified(const char *key)
{
	autojson *report = NULL;
	struct bm_error err = {};
	int64_t value = -1;

	if (verify(&report, NULL, &err) != 0)
		fail_msg("%s", err.message);
	bm_json_int(report, key, &value);
	return value;
}

/* It doesn't: that is said of that line, as that; and it is not opened, nor touched. */
static UNUSED void broken(enum bm_break_kind kind, const char *file, uint64_t line)
{
	autofree char *before = NULL, *after = NULL;
	size_t len = 0, after_len = 0;
	struct bm_ledger *ledger = NULL;
	autojson *report = NULL;
	struct bm_break found = {};
	struct bm_error why = {};
	bool there = faccessat(dir, BM_LEDGER_NAME, F_OK, 0) == 0;

	if (there)
		before = read_dir(BM_LEDGER_NAME, &len);
	assert_int_equal(verify(&report, &found, &why), -EBADMSG);
	assert_null(report);
	if (found.kind != kind || found.line != line || strcmp(found.file, file))
		fail_msg("%s line %d %s expected: %s", file, (int)line, bm_break_name(kind),
			 why.message);
	assert_non_null(strstr(why.message, bm_break_name(kind)));
	assert_true(why.remedy[0]);
	if (strcmp(file, BM_LEDGER_NAME))
		return;
	REFUSED(EBADMSG, bm_ledger_open(dir, NULL, &ledger, err));
	assert_null(ledger);
	assert_int_equal(faccessat(dir, BM_LEDGER_NAME, F_OK, 0) == 0, there);
	if (!there)
		return;
	after = read_dir(BM_LEDGER_NAME, &after_len);
	assert_int_equal(after_len, len);
	assert_memory_equal(after, before, len);
}

#endif
