// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "bench/box.h"
#include "gatekeeperd/model.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static struct model model;

static int empty(void **state)
{
	(void)state;
	while (model.benches)
		model_remove(&model, model.benches);
	model = (struct model){};
	return 0;
}

static struct bench *add(const char *name, uint32_t id)
{
	struct bench *bench = model_add(&model, name, id);

	assert_non_null(bench);
	return bench;
}

static struct grant *add_grant(struct bench *bench, uint32_t number, enum grant_kind kind)
{
	struct grant *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->number = number;
	g->kind = kind;
	bench_add_grant(bench, g);
	return g;
}

static void benches(void **state)
{
	struct bench *b1 = add("b1", 1), *b2 = add("b2", 2), *b10 = add("b10", 3);

	(void)state;
	assert_ptr_equal(model.benches, b1);
	assert_ptr_equal(b1->next, b2);
	assert_int_equal(b1->cgroup.fd, -1);
	assert_int_equal(b1->state, BENCH_MAKING);
	assert_ptr_equal(model_find(&model, "b2"), b2);
	assert_ptr_equal(model_find(&model, "b10"), b10);
	assert_null(model_find(&model, "b"));
	assert_null(model_find(&model, "b100"));
	assert_null(model_find(&model, ""));
	assert_ptr_equal(model_find_id(&model, 3), b10);
	assert_null(model_find_id(&model, 0));
	assert_null(model_find_id(&model, 4));

	model_remove(&model, b2);
	assert_null(model_find(&model, "b2"));
	assert_null(model_find_id(&model, 2));
	assert_ptr_equal(b1->next, b10);
	model_remove(&model, b1);
	model_remove(&model, b10);
	assert_null(model.benches);
}

/* An id in the kernel's tables must never come to mean another Bench. */
static void ids_only_rise(void **state)
{
	struct bench *bench = add("b1", 7);

	(void)state;
	assert_int_equal(model.last_bench, 7);
	model_remove(&model, bench);
	assert_int_equal(model.last_bench, 7);
	add("b2", 3);
	assert_int_equal(model.last_bench, 7);
	add("b3", UINT32_MAX);
	assert_int_equal(model.last_bench, UINT32_MAX);
}

static void removing_closes_the_cgroup(void **state)
{
	struct bench *bench = add("b1", 1);
	int fd = open("/", O_PATH | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	bench->cgroup.fd = fd;
	add_grant(bench, 1, GRANT_FILE);
	model_remove(&model, bench);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void free_names(void **state)
{
	char name[BM_BENCH_NAME_LEN];

	(void)state;
	model_free_name(&model, name);
	assert_string_equal(name, "b1");
	add("b1", 1);
	add("b3", 2);
	add("build", 3);
	model_free_name(&model, name);
	assert_string_equal(name, "b2");
	add("b2", 4);
	model_free_name(&model, name);
	assert_string_equal(name, "b4");
	model_remove(&model, model_find(&model, "b1"));
	model_free_name(&model, name);
	assert_string_equal(name, "b1");
	for (uint32_t i = 0; i < 200; i++) {
		model_free_name(&model, name);
		assert_true(bm_bench_name_valid(name));
		add(name, i + 10);
	}
	assert_non_null(model_find(&model, "b202"));
}

static void free_slots(void **state)
{
	uint32_t slot = 77;
	struct bench *b;

	(void)state;
	assert_int_equal(model_free_slot(&model, &slot), 0);
	assert_int_equal(slot, 0);
	/* One that benchmon did not make uses none. */
	b = add("other", 1);
	b->origin = ORIGIN_ATTACHED;
	assert_int_equal(model_free_slot(&model, &slot), 0);
	assert_int_equal(slot, 0);
	for (uint32_t i = 0; i < BM_ID_SLOTS; i++) {
		char name[BM_BENCH_NAME_LEN];

		snprintf(name, sizeof(name), "b%u", i);
		b = add(name, i + 2);
		b->origin = ORIGIN_CREATED;
		b->slot = BM_ID_SLOTS - 1 - i;
	}
	slot = 77;
	assert_int_equal(model_free_slot(&model, &slot), -ENOSPC);
	assert_int_equal(slot, 77);
	model_remove(&model, b);
	assert_int_equal(model_free_slot(&model, &slot), 0);
	assert_int_equal(slot, 0);
	add("again", 9000)->slot = 0;
	model_remove(&model, model_find(&model, "b0"));
	assert_int_equal(model_free_slot(&model, &slot), 0);
	assert_int_equal(slot, BM_ID_SLOTS - 1);
	/* The last range ends within 32 bits, and below the two reserved ids. */
	assert_true(BM_ID_FIRST + (uint64_t)BM_ID_SLOTS * BM_ID_COUNT < UINT32_MAX - 1);
}

static void grants(void **state)
{
	struct bench *bench = add("b1", 1);
	struct grant *g1 = add_grant(bench, 1, GRANT_FILE), *g2 = add_grant(bench, 2, GRANT_NET),
		     *g5 = add_grant(bench, 5, GRANT_FILE);

	(void)state;
	g1->object = 100;
	g2->object = 200;
	g5->object = 200;
	assert_int_equal(bench->grant_count, 3);
	assert_int_equal(bench->last_grant, 5);
	assert_ptr_equal(bench_grant(bench, 2), g2);
	assert_null(bench_grant(bench, 3));
	assert_null(bench_grant(bench, 0));
	assert_ptr_equal(bench_grant_of_object(bench, 100), g1);
	/* Only a file has an object. */
	assert_ptr_equal(bench_grant_of_object(bench, 200), g5);
	assert_null(bench_grant_of_object(bench, 300));

	bench_remove_grant(bench, g5);
	assert_int_equal(bench->grant_count, 2);
	/* Used once is used for ever. */
	assert_int_equal(bench->last_grant, 5);
	bench_remove_grant(bench, g1);
	assert_ptr_equal(bench->grants, g2);
	assert_null(g2->next);
	add_grant(bench, 4, GRANT_FILE);
	assert_int_equal(bench->last_grant, 5);
	assert_int_equal(bench->grant_count, 2);
}

static void names(void **state)
{
	enum grant_kind kind = GRANT_KIND_MAX;
	enum bench_origin origin = ORIGIN_MAX;
	enum bench_exec exec = EXEC_MAX;

	(void)state;
	for (int i = 0; i < GRANT_KIND_MAX; i++) {
		assert_int_equal(grant_kind_parse(grant_kind_name((enum grant_kind)i), &kind), 0);
		assert_int_equal(kind, i);
	}
	for (int i = 0; i < ORIGIN_MAX; i++) {
		const char *name = bench_origin_name((enum bench_origin)i);

		assert_int_equal(bench_origin_parse(name, &origin), 0);
		assert_int_equal(origin, i);
	}
	for (int i = 0; i < BENCH_STATE_MAX; i++)
		assert_true(bench_state_name((enum bench_state)i)[0]);
	kind = GRANT_NET;
	assert_int_equal(grant_kind_parse("files", &kind), -EBADMSG);
	assert_int_equal(grant_kind_parse("", &kind), -EBADMSG);
	assert_int_equal(grant_kind_parse(NULL, &kind), -EBADMSG);
	assert_int_equal(kind, GRANT_NET);
	for (int i = 0; i < EXEC_MAX; i++) {
		assert_int_equal(bench_exec_parse(bench_exec_name((enum bench_exec)i), &exec), 0);
		assert_int_equal(exec, i);
	}
	assert_int_equal(bench_exec_parse("all", &exec), -EBADMSG);
	assert_int_equal(bench_exec_parse("", &exec), -EBADMSG);
	assert_int_equal(exec, EXEC_MAX - 1);
	assert_int_equal(bench_exec_parse(NULL, &exec), 0);
	assert_int_equal(exec, EXEC_OWN);
	assert_int_equal(bench_origin_parse("made", &origin), -EBADMSG);
	assert_int_equal(bench_origin_parse(NULL, &origin), -EBADMSG);
}

static void dest_key(void **state)
{
	static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 198, 51, 100, 10 };
	struct bench *bench = add("b1", 0x01020304);
	struct bm_dest_key key, expected;
	struct bm_destination d;

	(void)state;
	assert_int_equal(bm_destination_parse("198.51.100.10:443/udp", &d, NULL), 0);
	memset(&key, 0xff, sizeof(key));
	memset(&expected, 0, sizeof(expected));
	key = bench_dest_key(bench, &d);
	expected.bench = 0x01020304;
	expected.port = htons(443);
	expected.protocol = IPPROTO_UDP;
	memcpy(expected.address, mapped, sizeof(mapped));
	/* A hash key: every byte counts, also the unused ones. */
	assert_memory_equal(&key, &expected, sizeof(key));
}

/* --- a grant as JSON ------------------------------------------------------------------------- */

static struct grant *through_text(const struct bench *bench, const struct grant *g)
{
	autojson *json = grant_to_json(bench, g), *again = NULL;
	const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
	struct grant *ret = NULL;

	assert_int_equal(bm_json_parse(text, strlen(text), "grant", &again, NULL), 0);
	assert_int_equal(grant_from_json(again, &ret), 0);
	assert_null(ret->next);
	return ret;
}

static void assert_same(const struct grant *a, const struct grant *b)
{
	struct grant same = *a;

	assert_string_equal(a->source, b->source);
	assert_string_equal(a->dest, b->dest);
	same.source = b->source;
	same.dest = b->dest;
	assert_memory_equal(&same, b, sizeof(same));
}

static void file_round_trip(void **state)
{
	struct bench *bench = add("b1", 1);
	BM_CLEANUP(grant_freep) struct grant *back = NULL, *plain = NULL;
	struct grant *g = add_grant(bench, UINT32_MAX, GRANT_FILE);

	(void)state;
	g->source = calloc(1, PATH_MAX);
	g->dest = calloc(1, DEST_LEN);
	assert_true(g->source && g->dest);
	memset(g->source, 's', PATH_MAX - 1);
	memcpy(g->source, "/\"\\\n\t\x01 {}\303\244", 11);
	memset(g->dest, 'd', DEST_LEN - 1);
	snprintf(g->created, sizeof(g->created), "2026-01-02T03:04:05.000000006Z");
	snprintf(g->confirmed_how, sizeof(g->confirmed_how), "tty");
	g->confirmed_uid = 4294967294u;
	g->writable = true;
	g->directory = true;
	g->object = UINT64_MAX - 1;
	g->device = UINT64_MAX - 2;
	g->inode = UINT64_MAX - 3;
	back = through_text(bench, g);
	assert_same(back, g);

	g->writable = false;
	g->directory = false;
	g->idmap = true;
	g->adopted = true;
	plain = through_text(bench, g);
	assert_same(plain, g);
}

/* JSON of any kind, with ' for ". */
static struct json_object *list_of(const char *text)
{
	struct json_object *json;
	char buf[512];

	snprintf(buf, sizeof(buf), "%s", text);
	for (char *p = buf; *p; p++)
		if (*p == '\'')
			*p = '"';
	json = json_tokener_parse(buf);
	assert_non_null(json);
	return json;
}

static void excepts_round_trip(void **state)
{
	static const char text[] = "[{'name':'.env','rights':'none','objects':[7]},"
				   "{'name':'a/b.c','rights':'ro','objects':[7,9]}]",
			  typed[] = "[{'name':'.env','rights':'none'}]";
	static const char *const bad[] = {
		"[]",
		"[1]",
		"[{}]",
		"{'name':'x','rights':'ro'}",
		"[{'name':'x'}]",
		"[{'rights':'ro'}]",
		"[{'name':'x','rights':'rw'}]",
		"[{'name':'','rights':'ro'}]",
		"[{'name':'/x','rights':'ro'}]",
		"[{'name':'x/','rights':'ro'}]",
		"[{'name':'a//b','rights':'ro'}]",
		"[{'name':'.','rights':'ro'}]",
		"[{'name':'a/..','rights':'ro'}]",
		"[{'name':'a/b/c/d/e/f/g/h/i','rights':'ro'}]",
		"[{'name':'a\\u0001','rights':'ro'}]",
		"[{'name':'x','rights':'ro','more':1}]",
		"[{'name':'"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx','rights':'ro'}]",
		/* Only the ledger says which objects they are. */
		"[{'name':'x','rights':'ro','objects':[7]}]",
	};
	static const char *const bad_kept[] = {
		"[{'name':'x','rights':'ro'}]",
		"[{'name':'x','rights':'ro','objects':[]}]",
		"[{'name':'x','rights':'ro','objects':[1,2]}]",
		"[{'name':'a/x','rights':'ro','objects':[1]}]",
		"[{'name':'x','rights':'ro','objects':['1']}]",
	};
	autojson *json = list_of(text), *back = NULL, *other = list_of(typed);
	autofree struct except *list = NULL, *again = NULL;
	size_t count = 0;

	(void)state;
	assert_int_equal(excepts_from_json(json, true, &list, &count), 0);
	assert_int_equal(count, 2);
	assert_string_equal(list[1].name, "a/b.c");
	assert_true(list[1].readable && !list[0].readable);
	assert_int_equal(list[0].depth, 1);
	assert_int_equal(list[1].depth, 2);
	assert_true(list[1].object[1] == 9);
	back = excepts_to_json(list, count, true);
	assert_true(json_object_equal(back, json));
	assert_int_equal(excepts_from_json(other, false, &again, &count), 0);
	assert_int_equal(count, 1);
	for (size_t i = 0; i < COUNT(bad) + COUNT(bad_kept); i++) {
		bool kept = i >= COUNT(bad);
		const char *from = kept ? bad_kept[i - COUNT(bad)] : bad[i];
		autojson *wrong = list_of(from);
		struct except *none = NULL;

		if (excepts_from_json(wrong, kept, &none, &count) != -EBADMSG)
			fail_msg("taken: %s", from);
		assert_null(none);
	}
}

static const char file_text[] =
	"{'id':'b1/3','kind':'file','created':'now','confirmed':{'uid':0,'how':'tty'},"
	"'source':'/s','dest':'/d','rights':'rw','directory':true,'idmap':true,'object':1,"
	"'device':2,'inode':3}";
static const char net_text[] =
	"{'id':'b1/3','kind':'net','created':'now','confirmed':{'uid':0,'how':'tty'},"
	"'destination':'198.51.100.10:80/tcp'}";

/* text with ' for ", and the first `from` in it replaced. */
static struct json_object *changed(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	struct json_object *json = NULL;
	char buf[8192];
	size_t len;

	assert_non_null(at);
	len = (size_t)snprintf(buf, sizeof(buf), "%.*s%s%s", (int)(at - text), text, to,
			       at + strlen(from));
	assert_true(len < sizeof(buf));
	for (char *p = buf; *p; p++)
		if (*p == '\'')
			*p = '"';
	assert_int_equal(bm_json_parse(buf, len, "test", &json, NULL), 0);
	return json;
}

static void malformed(void **state)
{
	static const struct {
		const char *text, *from, *to;
	} cases[] = {
		{ file_text, "'id':'b1/3',", "" },
		{ file_text, "'b1/3'", "3" },
		{ file_text, "b1/3", "b1" },
		{ file_text, "b1/3", "b1/0" },
		{ file_text, "b1/3", "b1/-1" },
		{ file_text, "b1/3", "b1/4294967296" },
		{ file_text, "b1/3", "B1/3" },
		{ file_text, "'kind':'file',", "" },
		{ file_text, "'file'", "'broker'" },
		{ file_text, "'file'", "0" },
		{ file_text, "'file'", "'net'" },
		{ file_text, "'created':'now',", "" },
		{ file_text, "'now'", "'0123456789012345678901234567890123456789'" },
		{ file_text, "'confirmed':{'uid':0,'how':'tty'},", "" },
		{ file_text, "{'uid':0,'how':'tty'}", "'tty'" },
		{ file_text, "'uid':0,", "" },
		{ file_text, "'uid':0", "'uid':'0'" },
		{ file_text, ",'how':'tty'", "" },
		{ file_text, "'tty'", "'terminal'" },
		{ file_text, "'source':'/s',", "" },
		{ file_text, "'/s'", "1" },
		{ file_text, "'dest':'/d',", "" },
		{ file_text, "'rights':'rw',", "" },
		{ file_text, "'object':1,", "" },
		{ file_text, "'object':1,", "'object':'1'," },
		{ file_text, "'device':2,", "" },
		{ file_text, ",'inode':3", "" },
		{ file_text, "'inode':3", "'inode':3.0" },
		{ net_text, "'net'", "'file'" },
		{ net_text, ",'destination':'198.51.100.10:80/tcp'", "" },
		{ net_text, "198.51.100.10", "example.org" },
		{ net_text, ":80", "" },
		{ net_text, "/tcp", "/sctp" },
		{ net_text, "'198.51.100.10:80/tcp'", "80" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		autojson *json = changed(cases[i].text, cases[i].from, cases[i].to);
		struct grant *g = NULL;

		if (grant_from_json(json, &g) != -EBADMSG)
			fail_msg("\"%s\" for \"%s\"", cases[i].to, cases[i].from);
		assert_null(g);
	}
}

/* Unchanged, the texts of malformed() are taken; a longest value too, and no longer one. */
static void bounds(void **state)
{
	static const size_t sizes[] = { DEST_LEN, PATH_MAX };
	static const char *const keys[] = { "'/d'", "'/s'" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		autojson *json = changed(i ? file_text : net_text, "now", "now");
		BM_CLEANUP(grant_freep) struct grant *g = NULL;

		assert_int_equal(grant_from_json(json, &g), 0);
		assert_int_equal(g->number, 3);
		assert_int_equal(g->kind, i ? GRANT_FILE : GRANT_NET);
		assert_int_equal(g->writable, i);
	}
	for (size_t i = 0; i < COUNT(sizes); i++) {
		char value[PATH_MAX + 3];

		memset(value, 'x', sizeof(value));
		value[0] = '\'';
		for (size_t over = 0; over < 2; over++) {
			autojson *json = NULL;
			BM_CLEANUP(grant_freep) struct grant *g = NULL;

			value[sizes[i] + over] = '\'';
			value[sizes[i] + over + 1] = '\0';
			json = changed(file_text, keys[i], value);
			assert_int_equal(grant_from_json(json, &g), over ? -EBADMSG : 0);
			value[sizes[i]] = 'x';
		}
	}
}

/* Anything but "rw" never becomes it. */
static void rights(void **state)
{
	static const char *const others[] = { "ro", "", "r", "w", "RW", "rw " };

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		autojson *json = changed(file_text, "rw", others[i]);
		BM_CLEANUP(grant_freep) struct grant *g = NULL;

		if (grant_from_json(json, &g) == 0)
			assert_false(g->writable);
	}
}

/* --- processes ------------------------------------------------------------------------------- */

/* Field 22, counted from a comm that holds neither space nor parenthesis. */
static uint64_t plain_start_time(void)
{
	autofree char *text = NULL;
	unsigned long long start = 0;

	assert_int_equal(bm_read_file(AT_FDCWD, "/proc/self/stat", 4096, &text, NULL), 0);
	assert_int_equal(sscanf(text,
				"%*d (plain) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
				"%*d %*d %*d %*d %*d %*d %llu",
				&start),
			 1);
	return start;
}

static void start_time(void **state)
{
	static const char *const comms[] = { ") (",  ") R 1 2 3 4 5 6", "((((",
					     "))))", "a) b) c)",        " ",
					     "" };
	uint64_t expected;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "plain"), 0);
	expected = plain_start_time();
	assert_true(expected > 0);
	assert_int_equal(pid_start_time(getpid()), expected);
	for (size_t i = 0; i < COUNT(comms); i++) {
		assert_int_equal(prctl(PR_SET_NAME, comms[i]), 0);
		if (pid_start_time(getpid()) != expected)
			fail_msg("comm \"%s\"", comms[i]);
	}
	assert_int_equal(prctl(PR_SET_NAME, "test_model"), 0);
}

static void start_time_of_nobody(void **state)
{
	(void)state;
	assert_int_equal(pid_start_time(0), 0);
	assert_int_equal(pid_start_time(-1), 0);
	assert_int_equal(pid_start_time(INT32_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(benches, empty, empty),
		cmocka_unit_test_setup_teardown(ids_only_rise, empty, empty),
		cmocka_unit_test_setup_teardown(removing_closes_the_cgroup, empty, empty),
		cmocka_unit_test_setup_teardown(free_names, empty, empty),
		cmocka_unit_test_setup_teardown(free_slots, empty, empty),
		cmocka_unit_test_setup_teardown(grants, empty, empty),
		cmocka_unit_test(names),
		cmocka_unit_test_setup_teardown(dest_key, empty, empty),
		cmocka_unit_test_setup_teardown(file_round_trip, empty, empty),
		cmocka_unit_test(excepts_round_trip),
		cmocka_unit_test(malformed),
		cmocka_unit_test(bounds),
		cmocka_unit_test(rights),
		cmocka_unit_test(start_time),
		cmocka_unit_test(start_time_of_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
