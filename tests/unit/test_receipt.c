// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/receipt.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/receipt.h"

#define SCHEMA_PATH "userspace/audit/receipt.schema.json"
#include "tests/unit/schema.h"

static uint8_t secret[64], public[32];
static const struct bm_receipt_key key = { secret, public };
static struct model model;
static struct bench *bench;
static char top[] = "/tmp/test_receipt.XXXXXX";
static int dir = -1;

static int ready(void **state)
{
	if (sodium_init() < 0 || crypto_sign_keypair(public, secret) || !mkdtemp(top))
		return -1;
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : load_schema(state);
}

static int gone(void **state)
{
	bm_close(dir);
	return rmdir(top) | drop_schema(state);
}

static int before(void **state)
{
	(void)state;
	bench = model_add(&model, "b1", 7);
	bench->origin = ORIGIN_CREATED;
	now_text(bench->created);
	return 0;
}

static int after(void **state)
{
	autofree struct bm_receipt_entry *list = NULL;
	char name[BM_RECEIPT_NAME_LEN], path[64];
	size_t count;

	(void)state;
	while (model.benches)
		model_remove(&model, model.benches);
	if (bm_receipts_list(dir, &list, &count, NULL) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		bm_receipt_name(list[i].bench, list[i].id, name);
		snprintf(path, sizeof(path), BM_RECEIPT_DIR "/%s", name);
		unlinkat(dir, path, 0);
	}
	unlinkat(dir, BM_RECEIPT_DIR "/other", 0);
	unlinkat(dir, BM_RECEIPT_DIR, AT_REMOVEDIR);
	return 0;
}

static struct grant *grant(uint32_t number, bool writable)
{
	struct grant *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->number = number;
	g->kind = GRANT_FILE;
	g->writable = writable;
	assert_true(asprintf(&g->source, "/srv/data-%u", number) > 0);
	assert_true(asprintf(&g->dest, "/in/%u", number) > 0);
	snprintf(g->confirmed_how, sizeof(g->confirmed_how), "yes");
	now_text(g->created);
	bench_add_grant(bench, g);
	return g;
}

static void longest(struct grant *g, char c)
{
	free(g->source);
	g->source = calloc(1, PATH_MAX);
	assert_non_null(g->source);
	memset(g->source, c, PATH_MAX - 1);
}

static void end(struct grant *g, const char *reason)
{
	char now[40];

	now_text(now);
	receipt_grant(bench, g, now, reason);
}

static struct json_object *build(struct json_object *fields)
{
	struct bm_chain head;
	struct json_object *json;

	bm_chain_start(&head);
	head.n = 12;
	json = receipt_build(bench, "destroy", fields, bm_now_ns(CLOCK_REALTIME), &head);
	assert_non_null(json);
	return json;
}

/* As it stands in the file. */
static void write_it(struct json_object *json, char **ret, size_t *ret_len)
{
	assert_int_equal(bm_receipt_sign(json, &key, ret, ret_len, NULL), 0);
}

static void check_schema(const char *text, size_t len)
{
	autojson *json = NULL;
	struct bm_error err = {};

	if (bm_receipt_check(text, len, &key, &json, &err) < 0)
		fail_msg("%s", err.message);
	if (!schema_fits(loaded_schema, json, loaded_schema))
		fail_msg("%s", text);
}

static struct bm_output output(const char *path, uint32_t state)
{
	return (struct bm_output){
		.path = path, .size = 3, .state = state, .error = EACCES, .mtime_ns = 1
	};
}

static struct json_object *member(struct json_object *json, const char *list, size_t i)
{
	return json_object_array_get_idx(bm_json_get(json, list, json_type_array), i);
}

static void all_there_is_to_tell(void **state)
{
	struct bm_output files[] = { output("a\n\xff\xe2\x80\xae", BM_OUTPUT_HASHED),
				     output("b", BM_OUTPUT_CHANGED),
				     output("c", BM_OUTPUT_UNREADABLE),
				     output("", BM_OUTPUT_BOUND) };
	struct bm_outputs outputs = { .list = files,
				      .count = 4,
				      .counts = { .links = 1,
						  .special = 2,
						  .unreadable = 3,
						  .apart = 4,
						  .bounds = (1 << BM_BOUND_MAX) - 1 } };
	autojson *fields = json_object_new_object(), *json = NULL;
	struct grant *g1 = grant(1, true), *g2 = grant(2, false), *g3 = grant(3, true),
		     *g4 = grant(4, true);
	struct json_object *first;
	autofree char *text = NULL;
	size_t len;

	(void)state;
	snprintf(bench->container, sizeof(bench->container), "id c1");
	bm_json_add_int(fields, "uid", 0);
	receipt_output(bench, g1, &outputs, NULL);
	end(g2, "revoked");
	end(g3, "expired");
	end(g4, "failed");
	end(g1, "ended");
	bench->executions = 5;
	json = build(fields);
	write_it(json, &text, &len);
	check_schema(text, len);

	assert_int_equal(json_object_array_length(bm_json_get(json, "grants", json_type_array)), 4);
	/* One that failed never was; of one that was revoked nobody can tell any more. */
	assert_int_equal(json_object_array_length(bm_json_get(json, "outputs", json_type_array)),
			 2);
	assert_string_equal(bm_json_string(member(json, "outputs", 0), "grant"), "b1/3");
	assert_non_null(strstr(bm_json_string(member(json, "outputs", 0), "why"), "revoked"));
	assert_string_equal(bm_json_string(member(json, "outputs", 1), "grant"), "b1/1");
	first = member(member(json, "outputs", 1), "files", 0);
	assert_string_equal(bm_json_string(first, "path"), "a\\x0a\\xff\\u202e");
	assert_non_null(bm_json_string(first, "sha256"));
	first = member(member(json, "outputs", 1), "files", 2);
	assert_string_equal(bm_json_string(first, "why"), strerror(EACCES));
	assert_null(bm_json_string(first, "sha256"));
	assert_string_equal(bm_json_string(member(member(json, "outputs", 1), "files", 3), "path"),
			    ".");
	/* No counters were read: that is said, and not taken for none. */
	assert_null(bm_json_get(json, "denials", json_type_object));
	assert_non_null(strstr(json_object_get_string(member(json, "unknown", 0)), "denials"));
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
}

static void nothing_to_tell(void **state)
{
	autojson *fields = json_object_new_object(), *json = NULL;
	autofree char *text = NULL;
	size_t len;

	(void)state;
	bm_json_add_string(fields, "reason", "its container has gone");
	json = build(fields);
	assert_string_equal(bm_json_string(bm_json_get(json, "bench", json_type_object), "reason"),
			    "its container has gone");
	write_it(json, &text, &len);
	check_schema(text, len);
}

static void one_that_was_lost(void **state)
{
	autojson *fields = json_object_new_object(), *json = NULL;

	(void)state;
	end(grant(1, true), "ended");
	json = build(fields);
	assert_non_null(strstr(bm_json_string(member(json, "outputs", 0), "why"), "nobody"));
}

/* Granting and revoking without end takes no memory without end. */
static void history_is_bounded(void **state)
{
	autojson *fields = json_object_new_object(), *json = NULL;
	struct grant *g = grant(1, false);
	autofree char *text = NULL;
	int64_t left;
	size_t len;

	(void)state;
	for (uint32_t i = 1; i <= RECEIPT_GRANTS + 3; i++) {
		g->number = i;
		end(g, "revoked");
	}
	json = build(fields);
	assert_int_equal(json_object_array_length(bm_json_get(json, "grants", json_type_array)),
			 RECEIPT_GRANTS);
	assert_string_equal(bm_json_string(member(json, "grants", 0), "id"), "b1/4");
	assert_int_equal(bm_json_int(json, "grants_left_out", &left), 0);
	assert_int_equal(left, 3);
	write_it(json, &text, &len);
	check_schema(text, len);
	/* Nor of large ones. */
	longest(g, 'x');
	for (int i = 0; i < 1000; i++)
		end(g, "revoked");
	assert_true(bench->history_bytes <= RECEIPT_GRANTS_BYTES);
	assert_true(json_object_array_length(bench->history) >= 200);
}

/* A new file of the ledger tells of what is over, beside some of it that it also tells otherwise.
 */
static void history_is_read_back(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"items\":[],\"left_out\":0}",
		"{\"items\":[],\"left_out\":-1,\"executions\":0}",
		"{\"items\":{},\"left_out\":0,\"executions\":0}",
	};
	autojson *line = json_tokener_parse("{\"left_out\":3,\"executions\":9,"
					    "\"items\":[{\"id\":\"b1/1\"},{\"id\":\"b1/2\"}]}");
	autojson *more = json_tokener_parse("{\"left_out\":3,\"executions\":9,"
					    "\"items\":[{\"id\":\"b1/4\"}]}");

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		autojson *json = json_tokener_parse(bad[i]);

		assert_int_equal(receipt_replay(bench, json), -EBADMSG);
	}
	assert_int_equal(receipt_replay(bench, line), 0);
	assert_int_equal(receipt_replay(bench, more), 0);
	assert_int_equal(json_object_array_length(bench->history), 3);
	assert_int_equal(bench->history_left, 3);
	assert_int_equal(bench->executions, 9);
}

/* As much as there can be of everything still is a receipt. */
static void the_largest(void **state)
{
	autofree struct bm_output *files = calloc(BM_OUTPUTS_FILES, sizeof(*files));
	struct bm_outputs outputs = { .list = files, .count = BM_OUTPUTS_FILES };
	autojson *fields = json_object_new_object(), *json = NULL;
	char name[BM_OUTPUTS_PATHS / BM_OUTPUTS_FILES + 1];
	struct grant *g = grant(1, true);
	autofree char *text = NULL;
	size_t len;

	(void)state;
	memset(name, '\xff', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < BM_OUTPUTS_FILES; i++)
		files[i] = output(name, BM_OUTPUT_HASHED);
	longest(g, '\\');
	for (int i = 0; i < 1000; i++, g->number++)
		end(g, "revoked");
	/* The last one's files are told. */
	receipt_output(bench, g, &outputs, NULL);
	end(g, "ended");
	json = build(fields);
	write_it(json, &text, &len);
	assert_true(len < BM_RECEIPT_MAX);
	check_schema(text, len);
}

static void any_change_shows(void **state)
{
	autojson *fields = json_object_new_object(), *json = NULL;
	autofree char *text = NULL;
	uint8_t other_secret[64], other_public[32];
	const struct bm_receipt_key other = { other_secret, other_public };
	struct bm_error err = {};
	size_t len;

	(void)state;
	end(grant(1, true), "ended");
	json = build(fields);
	write_it(json, &text, &len);
	assert_int_equal(bm_receipt_check(text, len, &key, NULL, NULL), 0);
	for (size_t at = 0; at < len; at++) {
		text[at] ^= 1;
		assert_true(bm_receipt_check(text, len, &key, NULL, NULL) < 0);
		text[at] ^= 1;
		assert_true(bm_receipt_check(text, at, &key, NULL, NULL) < 0);
	}
	crypto_sign_keypair(other_public, other_secret);
	assert_int_equal(bm_receipt_check(text, len, &other, NULL, &err), -EKEYREJECTED);
	assert_int_equal(bm_receipt_check(text, len, &key, NULL, NULL), 0);
}

/* What this key has signed as something else is no receipt. */
static void another_signature_is_none(void **state)
{
	autojson *fields = json_object_new_object(), *json = NULL;
	unsigned char signature[crypto_sign_BYTES];
	char hex[2 * sizeof(signature) + 1], *at;
	autofree char *text = NULL;
	size_t len;

	(void)state;
	json = build(fields);
	write_it(json, &text, &len);
	at = strstr(text, ",\"signature\":\"");
	crypto_sign_detached(signature, NULL, (unsigned char *)text, (size_t)(at - text), secret);
	sodium_bin2hex(hex, sizeof(hex), signature, sizeof(signature));
	memcpy(at + strlen(",\"signature\":\""), hex, sizeof(hex) - 1);
	assert_int_equal(bm_receipt_check(text, len, &key, NULL, NULL), -EBADMSG);
}

static void names(void **state)
{
	static const char *const bad[] = {
		"",     "b1",       "b1-",           "b1-0",          "b1-07",   "-7",
		"B1-7", "b1-7.jso", "b1-7.json.new", "b1-4294967296", "../b1-7", "b1-+7"
	};
	char name[BM_RECEIPT_NAME_LEN], of[BM_BENCH_NAME_LEN];
	uint32_t id;

	(void)state;
	assert_string_equal(bm_receipt_name("b1", 4294967295, name), "b1-4294967295.json");
	assert_int_equal(bm_receipt_name_parse(name, of, &id), 0);
	assert_string_equal(of, "b1");
	assert_int_equal(id, UINT32_MAX);
	assert_int_equal(bm_receipt_name_parse("b1-7-3", of, &id), 0);
	assert_string_equal(of, "b1-7");
	assert_int_equal(id, 3);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(bm_receipt_name_parse(bad[i], of, &id), -EINVAL);
}

static void put_and_listed(void **state)
{
	autofree struct bm_receipt_entry *none = NULL, *list = NULL;
	autofree char *text = NULL;
	struct stat st;
	size_t count, len;

	(void)state;
	assert_int_equal(bm_receipts_list(dir, &none, &count, NULL), 0);
	assert_int_equal(count, 0);
	assert_int_equal(bm_receipt_read(dir, "b1-7.json", &text, &len, NULL), -ENOENT);
	assert_int_equal(bm_receipt_put(dir, "b1-7.json", "one", 3, BM_RECEIPTS_EACH, NULL), 0);
	assert_int_equal(bm_receipt_put(dir, "b1-7.json", "again", 5, BM_RECEIPTS_EACH, NULL), 0);
	assert_int_equal(fstatat(dir, BM_RECEIPT_DIR, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstatat(dir, BM_RECEIPT_DIR "/b1-7.json", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(bm_receipt_read(dir, "b1-7.json", &text, &len, NULL), 0);
	assert_string_equal(text, "again");
	assert_int_equal(bm_receipts_list(dir, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_string_equal(list[0].bench, "b1");
	assert_int_equal(list[0].id, 7);
	assert_int_equal(list[0].size, 5);
}

/* Root's directory; yet what is no file of root's, others can write, or leads away, is none. */
static void strangers_are_refused(void **state)
{
	autoclose fd = -1;

	(void)state;
	assert_int_equal(bm_receipt_put(dir, "b1-7.json", "one", 3, BM_RECEIPTS_EACH, NULL), 0);
	assert_int_equal(fchmodat(dir, BM_RECEIPT_DIR "/b1-7.json", 0622, 0), 0);
	assert_int_equal(bm_receipt_open(dir, "b1-7.json", &fd, NULL), -EPERM);
	assert_int_equal(fchmodat(dir, BM_RECEIPT_DIR "/b1-7.json", 0600, 0), 0);
	assert_int_equal(symlinkat("b1-7.json", dir, BM_RECEIPT_DIR "/b1-8.json"), 0);
	assert_int_equal(bm_receipt_open(dir, "b1-8.json", &fd, NULL), -ELOOP);
	assert_int_equal(mkfifoat(dir, BM_RECEIPT_DIR "/b1-9.json", 0600), 0);
	assert_int_equal(bm_receipt_open(dir, "b1-9.json", &fd, NULL), -EPERM);
}

static void the_newest_stay(void **state)
{
	autofree struct bm_receipt_entry *list = NULL;
	struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char name[BM_RECEIPT_NAME_LEN], path[64];
	size_t count;

	(void)state;
	for (uint32_t id = 2; id < BM_RECEIPTS_EACH + 6; id++) {
		bm_receipt_name("b", id, name);
		assert_int_equal(bm_receipt_put(dir, name, "x", 1, BM_RECEIPTS_EACH, NULL), 0);
		snprintf(path, sizeof(path), BM_RECEIPT_DIR "/%s", name);
		times[1].tv_sec = 1000 + id;
		assert_int_equal(utimensat(dir, path, times, 0), 0);
	}
	close(openat(dir, BM_RECEIPT_DIR "/other", O_WRONLY | O_CREAT, 0600));
	/* One that lived long, whose number is the lowest, is the newest all the same. */
	assert_int_equal(bm_receipt_put(dir, "old-1.json", "x", 1, BM_RECEIPTS_EACH, NULL), 0);
	assert_int_equal(bm_receipts_list(dir, &list, &count, NULL), 0);
	assert_int_equal(count, BM_RECEIPTS_EACH);
	assert_string_equal(list[0].bench, "old");
	assert_int_equal(list[1].id, BM_RECEIPTS_EACH + 5);
	assert_int_equal(list[count - 1].id, 7);
	assert_int_equal(faccessat(dir, BM_RECEIPT_DIR "/other", F_OK, 0), 0);
}

/* As it would be there already: written at that second, with so many bytes. */
static void there_is(uint32_t id, uint32_t owner, time_t when, off_t size)
{
	struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };
	char name[BM_RECEIPT_NAME_LEN], path[64];
	autoclose fd = -1;

	mkdirat(dir, BM_RECEIPT_DIR, 0700);
	snprintf(path, sizeof(path), BM_RECEIPT_DIR "/%s", bm_receipt_name("b", id, name));
	fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_true(dprintf(fd,
			    "{\"schema\":\"" BM_RECEIPT_SCHEMA
			    "\",\"bench\":{\"name\":\"b\",\"id\":%u,\"owner\":%u,",
			    id, owner) > 0);
	assert_true(!size || ftruncate(fd, size) == 0);
	assert_int_equal(futimens(fd, times), 0);
}

/* How many of theirs there are; *ret_oldest is the lowest number of these. */
static size_t left_of(uint32_t owner, uint32_t *ret_oldest)
{
	autofree struct bm_receipt_entry *list = NULL;
	size_t count, theirs = 0;

	*ret_oldest = UINT32_MAX;
	assert_int_equal(bm_receipts_list(dir, &list, &count, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		if (bm_receipt_owner(dir, &list[i]) != owner)
			continue;
		theirs++;
		if (list[i].id < *ret_oldest)
			*ret_oldest = list[i].id;
	}
	return theirs;
}

/* However many one of them writes, the other's stay, though they are the oldest. */
static void each_has_a_share(void **state)
{
	uint32_t oldest;

	(void)state;
	for (uint32_t id = 1; id <= 3; id++)
		there_is(id, 1501, 1000 + id, 0);
	for (uint32_t id = 11; id <= 30; id++)
		there_is(id, 0, 1000 + id, 0);
	for (uint32_t id = 101; id <= 140; id++)
		there_is(id, 1502, 1000 + id, 0);
	assert_int_equal(bm_receipt_put(dir, "own-1.json", "x", 1, 16, NULL), 0);
	assert_int_equal(left_of(1501, &oldest), 3);
	assert_int_equal(left_of(1502, &oldest), 16);
	assert_int_equal(oldest, 125);
	/* The one just put is root's too, or as good. */
	assert_int_equal(left_of(0, &oldest), 16);
}

static void each_has_so_many_bytes(void **state)
{
	uint32_t oldest;

	(void)state;
	there_is(1, 1501, 1000, 0);
	for (uint32_t id = 11; id <= 30; id++)
		there_is(id, 1502, 1000 + id, BM_RECEIPT_MAX);
	assert_int_equal(bm_receipt_put(dir, "own-1.json", "x", 1, BM_RECEIPTS_EACH, NULL), 0);
	assert_int_equal(left_of(1501, &oldest), 1);
	assert_int_equal(left_of(1502, &oldest), BM_RECEIPTS_EACH_BYTES / BM_RECEIPT_MAX);
	assert_int_equal(oldest, 31 - BM_RECEIPTS_EACH_BYTES / BM_RECEIPT_MAX);
}

/* All together are too many: the oldest go of who has most. */
static void who_has_most_gives_way(void **state)
{
	uint32_t oldest;

	(void)state;
	for (uint32_t id = 1; id <= BM_RECEIPTS_ALL + 1; id++)
		there_is(id, id <= 50 ? 1501 : id <= 1500 ? 1502 : 1503, 1000 + id, 0);
	assert_int_equal(bm_receipt_put(dir, "own-1.json", "x", 1, BM_RECEIPTS_ALL, NULL), 0);
	assert_int_equal(left_of(1501, &oldest), 50);
	assert_int_equal(left_of(1502, &oldest), 1450 - 2);
	assert_int_equal(oldest, 53);
	assert_int_equal(left_of(1503, &oldest), BM_RECEIPTS_ALL + 1 - 1500);
}

static void times_are_read_back(void **state)
{
	static const char *const bad[] = { "",
					   "2026-11-30T07:05:03Z",
					   "2026-11-30T07:05:03.1Z",
					   "2026-11-30T07:05:03.123456789",
					   "x",
					   "2026-11-30T07:05:03.123456789Zx",
					   "2026-13-30T07:05:03.123456789Z" };
	uint64_t now = bm_now_ns(CLOCK_REALTIME), ns;
	char text[BM_TIME_LEN];

	(void)state;
	assert_int_equal(bm_time_parse(bm_time_format(now, text), &ns), 0);
	assert_true(ns == now);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(bm_time_parse(bad[i], &ns), -EBADMSG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_there_is_to_tell),
		TEST(nothing_to_tell),
		TEST(one_that_was_lost),
		TEST(history_is_bounded),
		TEST(history_is_read_back),
		TEST(the_largest),
		TEST(any_change_shows),
		TEST(another_signature_is_none),
		TEST(names),
		TEST(put_and_listed),
		TEST(strangers_are_refused),
		TEST(the_newest_stay),
		TEST(each_has_a_share),
		TEST(each_has_so_many_bytes),
		TEST(who_has_most_gives_way),
		TEST(times_are_read_back),
	};

	return cmocka_run_group_tests(tests, ready, gone);
}
