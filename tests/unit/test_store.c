// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "audit/events.h"
#include "audit/store.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"

static int dir = -1;
static char dir_path[] = "/tmp/benchmon-store-XXXXXX";
static struct bm_store *store;

static int setup(void **state)
{
	(void)state;
	memcpy(strstr(dir_path, "store-") + 6, "XXXXXX", 6);
	if (!mkdtemp(dir_path))
		return -1;
	dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return bm_store_open(dir, &store, NULL);
}

static int teardown(void **state)
{
	char name[BM_STORED_NAME];

	(void)state;
	bm_store_close(store);
	store = NULL;
	unlinkat(dir, BM_STORE_NAME, 0);
	for (uint64_t n = 1; n < 64; n++)
		for (int zipped = 0; zipped < 2; zipped++)
			unlinkat(dir, bm_stored_name(n, zipped, name), 0);
	bm_close(dir);
	return rmdir(dir_path);
}

static struct json_object *event(const char *bench, uint64_t seq)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "bench", bench);
	bm_json_add_int(json, "seq", (int64_t)seq);
	return json;
}

static int add(const char *bench, uint64_t seq)
{
	autojson *json = event(bench, seq);

	return bm_store_add(store, json);
}

/* With the number of its Bench, as events of the kernel have it. */
static int add_of(uint32_t id, uint64_t seq)
{
	autojson *json = event("b1", seq);

	bm_json_add_int(json, "id", id);
	return bm_store_add(store, json);
}

static uint64_t next_seq(struct bm_reader *reader, uint64_t *ret_missed)
{
	autojson *json = NULL;
	const char *line;
	int64_t seq = 0;

	if (bm_reader_next(reader, &line, ret_missed) != BM_READER_LINE)
		return 0;
	assert_int_equal(bm_json_parse(line, strlen(line), "line", &json, NULL), 0);
	assert_int_equal(bm_json_int(json, "seq", &seq), 0);
	return (uint64_t)seq;
}

static off_t size_of(const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, 0) < 0 ? -1 : st.st_size;
}

static void one_reader_gets_all(void **state)
{
	autofree char *file = NULL;
	struct bm_reader reader;
	uint64_t missed = 77;
	const char *line;

	(void)state;
	assert_int_equal(add("b1", 1), 0);
	bm_reader_attach(&reader, store, NULL, 0);
	assert_int_equal(add("b2", 1), 0);
	assert_int_equal(bm_reader_next(&reader, &line, &missed), BM_READER_LINE);
	assert_string_equal(line, "{\"bench\":\"b1\",\"seq\":1}");
	assert_int_equal(missed, 0);
	assert_int_equal(bm_reader_next(&reader, &line, &missed), BM_READER_LINE);
	assert_string_equal(line, "{\"bench\":\"b2\",\"seq\":1}");
	assert_int_equal(bm_reader_next(&reader, &line, &missed), BM_READER_EMPTY);
	assert_int_equal(add("b1", 2), 0);
	assert_int_equal(next_seq(&reader, &missed), 2);
	bm_reader_detach(&reader);
	assert_int_equal(bm_read_file(dir, BM_STORE_NAME, 4096, &file, NULL), 0);
	assert_string_equal(file, "{\"bench\":\"b1\",\"seq\":1}\n{\"bench\":\"b2\",\"seq\":1}\n"
				  "{\"bench\":\"b1\",\"seq\":2}\n");
}

static void readers_choose(void **state)
{
	struct bm_reader bench, since, skipped;
	autojson *lost = NULL;
	uint64_t missed;
	const char *line;

	(void)state;
	for (uint64_t seq = 1; seq <= 4; seq++) {
		add("b1", seq);
		add("b10", 100 + seq);
	}
	assert_int_equal(bm_event_lost("b1", 5, &lost), 0);
	assert_int_equal(bm_store_add(store, lost), 0);
	bm_reader_attach(&bench, store, "b1", 0);
	bm_reader_attach(&since, store, "b1", 3);
	bm_reader_attach(&skipped, store, NULL, 0);
	bm_reader_skip(&skipped);
	for (uint64_t seq = 1; seq <= 4; seq++)
		assert_int_equal(next_seq(&bench, &missed), seq);
	assert_int_equal(next_seq(&since, &missed), 4);
	/* A loss has no number and concerns whoever reads its Bench. */
	assert_int_equal(bm_reader_next(&since, &line, &missed), BM_READER_LINE);
	assert_non_null(strstr(line, "\"lost\""));
	assert_int_equal(bm_reader_next(&since, &line, &missed), BM_READER_EMPTY);
	assert_int_equal(bm_reader_next(&skipped, &line, &missed), BM_READER_EMPTY);
	add("b2", 9);
	assert_int_equal(next_seq(&skipped, &missed), 9);
	/* In the middle, at the end and at the head of the list. */
	bm_reader_detach(&since);
	bm_reader_detach(&bench);
	bm_reader_detach(&skipped);
	bm_reader_detach(&skipped);
	/* From here on the store must not know them: their memory may be gone. */
	memset(&bench, 0, sizeof(bench));
	memset(&since, 0, sizeof(since));
	memset(&skipped, 0, sizeof(skipped));
	for (int i = 0; i < 2 * BM_STORE_EVENTS; i++)
		add("b1", 1);
	assert_true(!bench.position && !since.position && !skipped.position);
}

static void slow_readers_learn_what_they_missed(void **state)
{
	struct bm_reader all, rare, late, since;
	uint64_t missed = 77, total = 0, rare_before, read = 0;

	(void)state;
	bm_reader_attach(&all, store, NULL, 0);
	bm_reader_attach(&rare, store, "rare", 0);
	bm_reader_attach(&since, store, "noisy", 5000);
	for (uint64_t i = 1; i <= 10000; i++, total++)
		add(i % 7 ? "noisy" : "rare", i);
	bm_reader_attach(&late, store, NULL, 0);
	assert_int_equal(next_seq(&all, &missed), total - BM_STORE_EVENTS + 1);
	assert_int_equal(missed, total - BM_STORE_EVENTS);
	assert_int_equal(next_seq(&all, &missed), total - BM_STORE_EVENTS + 2);
	assert_int_equal(missed, 0);
	assert_int_equal(next_seq(&late, &missed), total - BM_STORE_EVENTS + 1);
	assert_int_equal(missed, 0);

	rare_before = (total - BM_STORE_EVENTS) / 7;
	assert_int_equal(next_seq(&rare, &missed), (rare_before + 1) * 7);
	assert_int_equal(missed, rare_before);
	for (read = 1; next_seq(&rare, &missed); read++)
		assert_int_equal(missed, 0);
	assert_int_equal(rare_before + read, total / 7);

	/* 5001 to total - BM_STORE_EVENTS were to be had and are gone, less every seventh. */
	assert_true(next_seq(&since, &missed));
	assert_int_equal(missed, (total - BM_STORE_EVENTS - 5000) -
					 ((total - BM_STORE_EVENTS) / 7 - 5000 / 7));
	/* What was read already is not missed when it goes. */
	for (int i = 0; i < BM_STORE_EVENTS - 1; i++)
		add("rare", 1);
	assert_int_equal(next_seq(&rare, &missed), 1);
	assert_int_equal(missed, 0);
	bm_reader_detach(&late);
	bm_reader_detach(&all);
	bm_reader_detach(&rare);
	bm_reader_detach(&since);
}

static void file_rotates(void **state)
{
	autofree char *text = calloc(1, 1 << 20);
	autojson *json = event("b1", 1);
	off_t line;

	(void)state;
	memset(text, 'x', (1 << 20) - 1);
	bm_json_add_string(json, "text", text);
	assert_int_equal(bm_store_add(store, json), 0);
	line = size_of(BM_STORE_NAME);
	for (int i = 1; i < 14; i++)
		bm_store_add(store, json);
	assert_int_equal(size_of("events-1.jsonl"), -1);
	for (int i = 14; i < 34; i++)
		assert_int_equal(bm_store_add(store, json), 0);
	assert_int_equal(bm_store_unwritten(store), 0);
	assert_int_equal(size_of("events-1.jsonl"), 15 * line);
	assert_int_equal(size_of(BM_STORE_NAME), 4 * line);
}

static void file_moved_away(void **state)
{
	autofree char *file = NULL;

	(void)state;
	add("b1", 1);
	assert_int_equal(renameat(dir, BM_STORE_NAME, dir, "events-1.jsonl"), 0);
	assert_int_equal(bm_store_reopen(store), 0);
	add("b1", 2);
	assert_int_equal(bm_read_file(dir, BM_STORE_NAME, 4096, &file, NULL), 0);
	assert_string_equal(file, "{\"bench\":\"b1\",\"seq\":2}\n");
}

static void half_a_line_is_ended(void **state)
{
	autofree char *file = NULL;

	(void)state;
	assert_int_equal(bm_write_file(dir, BM_STORE_NAME, O_APPEND, 0, "{\"half"), 0);
	assert_int_equal(bm_store_reopen(store), 0);
	add("b1", 1);
	assert_int_equal(bm_read_file(dir, BM_STORE_NAME, 4096, &file, NULL), 0);
	assert_string_equal(file, "{\"half\n{\"bench\":\"b1\",\"seq\":1}\n");
}

static void full_disk_costs_the_file_only(void **state)
{
	struct rlimit limit;
	struct bm_reader reader;
	autofree char *file = NULL;
	uint64_t missed;
	rlim_t before;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	bm_reader_attach(&reader, store, NULL, 0);
	assert_int_equal(add("b1", 1), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)size_of(BM_STORE_NAME) + 5;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(add("b1", 2), -ENOSPC);
	limit.rlim_cur -= 5;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(add("b1", 3), -EFBIG);
	limit.rlim_cur = before;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(add("b1", 4), 0);
	assert_int_equal(bm_store_unwritten(store), 2);
	for (uint64_t seq = 1; seq <= 4; seq++)
		assert_int_equal(next_seq(&reader, &missed), seq);
	bm_reader_detach(&reader);
	assert_int_equal(bm_read_file(dir, BM_STORE_NAME, 4096, &file, NULL), 0);
	assert_string_equal(file, "{\"bench\":\"b1\",\"seq\":1}\n{\"bench\":\"b1\",\"seq\":4}\n");
}

static void file_gone_is_tried_again(void **state)
{
	(void)state;
	assert_int_equal(unlinkat(dir, BM_STORE_NAME, 0), 0);
	assert_int_equal(symlinkat("elsewhere", dir, BM_STORE_NAME), 0);
	assert_int_equal(bm_store_reopen(store), -ELOOP);
	assert_int_equal(add("b1", 1), -ELOOP);
	assert_int_equal(bm_store_unwritten(store), 1);
	assert_int_equal(unlinkat(dir, BM_STORE_NAME, 0), 0);
	assert_int_equal(add("b1", 2), 0);
	assert_true(size_of(BM_STORE_NAME) > 0);
}

static void a_namesake_is_another(void **state)
{
	struct bm_reader reader;
	uint64_t missed;

	(void)state;
	assert_int_equal(add_of(1, 1), 0);
	assert_int_equal(add_of(1, 2), 0);
	bm_reader_attach(&reader, store, "b1", 0);
	bm_reader_of(&reader, 2);
	assert_int_equal(add_of(2, 1), 0);
	assert_int_equal(next_seq(&reader, &missed), 1);
	assert_int_equal(missed, 0);
	assert_int_equal(next_seq(&reader, &missed), 0);
	bm_reader_detach(&reader);
}

static void restart(void)
{
	bm_store_close(store);
	assert_int_equal(bm_store_open(dir, &store, NULL), 0);
}

/* Small files, all of which but the newest are compressed, and a store that has just begun. */
static void fill(uint64_t events)
{
	const struct bm_stored_limits limits = { 4096, INT64_MAX, INT64_MAX };

	bm_store_limit(store, &limits);
	for (uint64_t seq = 1; seq <= events; seq++) {
		assert_int_equal(add_of(7, seq), 0);
		assert_int_equal(add_of(8, seq), 0);
	}
	while (bm_store_busy(store))
		bm_store_work(store);
	restart();
	assert_true(size_of("events-1.jsonl.gz") > 0);
	assert_int_equal(size_of("events-1.jsonl"), -1);
}

static void resumes_from(uint64_t since, uint64_t last)
{
	struct bm_reader reader;
	uint64_t missed, seq = since;

	bm_reader_attach(&reader, store, "b1", since);
	bm_reader_of(&reader, 7);
	assert_int_equal(bm_reader_resume(&reader), 0);
	while (seq < last) {
		assert_int_equal(next_seq(&reader, &missed), ++seq);
		assert_int_equal(missed, 0);
	}
	assert_int_equal(next_seq(&reader, &missed), 0);
	assert_int_equal(add_of(7, last + 1), 0);
	assert_int_equal(next_seq(&reader, &missed), last + 1);
	assert_int_equal(missed, 0);
	bm_reader_detach(&reader);
}

/* Behind any number, neither a gap nor one twice, wherever it is. */
static void reading_resumes(void **state)
{
	uint64_t count = 500;

	(void)state;
	fill(count);
	assert_int_equal(bm_store_told(store, 7), count);
	for (uint64_t since = 0; since <= count; since += 25)
		resumes_from(since, count + since / 25);
}

/* Memory has lost what it has not read: the files have it. */
static void slow_readers_resume(void **state)
{
	struct bm_reader reader;
	uint64_t missed;

	(void)state;
	assert_int_equal(add_of(7, 1), 0);
	bm_reader_attach(&reader, store, "b1", 0);
	bm_reader_of(&reader, 7);
	assert_int_equal(bm_reader_resume(&reader), 0);
	assert_int_equal(next_seq(&reader, &missed), 1);
	for (uint64_t seq = 2; seq < 2 * BM_STORE_EVENTS; seq++)
		assert_int_equal(add_of(7, seq), 0);
	for (uint64_t seq = 2; seq < 2 * BM_STORE_EVENTS; seq++) {
		assert_int_equal(next_seq(&reader, &missed), seq);
		assert_int_equal(missed, 0);
	}
	assert_int_equal(next_seq(&reader, &missed), 0);
	bm_reader_detach(&reader);
}

static void what_was_removed_is_missed(void **state)
{
	const struct bm_stored_limits limits = { 4096, 1, INT64_MAX };
	struct bm_reader reader;
	uint64_t missed, seq;

	(void)state;
	fill(500);
	bm_store_limit(store, &limits);
	bm_store_work(store);
	bm_store_work(store);
	assert_int_equal(size_of("events-1.jsonl.gz"), -1);
	bm_reader_attach(&reader, store, "b1", 3);
	bm_reader_of(&reader, 7);
	assert_int_equal(bm_reader_resume(&reader), 0);
	seq = next_seq(&reader, &missed);
	assert_true(seq > 4);
	assert_int_equal(missed, seq - 4);
	bm_reader_detach(&reader);
}

/* The file says what it has not got. */
static void unwritten_is_said_to_be_missing(void **state)
{
	autofree char *file = NULL;

	(void)state;
	assert_int_equal(add_of(7, 1), 0);
	assert_int_equal(unlinkat(dir, BM_STORE_NAME, 0), 0);
	assert_int_equal(symlinkat("elsewhere", dir, BM_STORE_NAME), 0);
	assert_int_equal(bm_store_reopen(store), -ELOOP);
	assert_int_equal(add_of(7, 2), -ELOOP);
	assert_int_equal(add_of(7, 3), -ELOOP);
	assert_int_equal(bm_store_told(store, 7), 1);
	assert_int_equal(unlinkat(dir, BM_STORE_NAME, 0), 0);
	assert_int_equal(add_of(7, 4), 0);
	assert_int_equal(bm_store_told(store, 7), 4);
	assert_int_equal(bm_read_file(dir, BM_STORE_NAME, 4096, &file, NULL), 0);
	assert_non_null(strstr(file, "\"type\":\"begin\",\"benches\":[{\"id\":7,\"seq\":1}]}"));
	assert_non_null(strstr(file, "\"first\":2,\"last\":3,\"count\":2}"));
	assert_non_null(strstr(file, "\"seq\":4"));
	restart();
	assert_int_equal(bm_store_told(store, 7), 4);
	bm_store_forget(store, 7);
	assert_int_equal(bm_store_told(store, 7), 0);
}

static void old_files_go(void **state)
{
	const struct bm_stored_limits limits = { 4096, INT64_MAX, 3600 };
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	(void)state;
	fill(300);
	assert_int_equal(utimensat(dir, "events-2.jsonl.gz", old, 0), 0);
	bm_store_limit(store, &limits);
	bm_store_work(store);
	bm_store_work(store);
	assert_int_equal(size_of("events-1.jsonl.gz"), -1);
	assert_int_equal(size_of("events-2.jsonl.gz"), -1);
	assert_true(size_of("events-3.jsonl.gz") > 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_reader_gets_all),
		TEST(readers_choose),
		TEST(slow_readers_learn_what_they_missed),
		TEST(file_rotates),
		TEST(file_moved_away),
		TEST(half_a_line_is_ended),
		TEST(full_disk_costs_the_file_only),
		TEST(file_gone_is_tried_again),
		TEST(a_namesake_is_another),
		TEST(reading_resumes),
		TEST(slow_readers_resume),
		TEST(what_was_removed_is_missed),
		TEST(unwritten_is_said_to_be_missing),
		TEST(old_files_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
