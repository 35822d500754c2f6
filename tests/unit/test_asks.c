// SPDX-License-Identifier: GPL-2.0-only
/* The queue of requests: how much fits, what is the same, how often, and what a restart finds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gatekeeperd/asks.h"
#include "gatekeeperd/record.h"
#include "ledger_model.h"

#define NS 1000000000ull
#define NOW (1000 * NS)

static const struct ask_bounds plenty = { 1000, 1000, 1000 };

/* Of uid, or with uid 0 of the Bench itself. */
static struct ask *ask_for(uint32_t bench, uid_t uid, const char *target)
{
	struct ask *ask = calloc(1, sizeof(*ask));

	assert_non_null(ask);
	ask->bench_id = bench;
	if (bench)
		snprintf(ask->bench, sizeof(ask->bench), "b%u", bench);
	ask->inside = !uid;
	ask->uid = uid;
	ask->deadline_ns = NOW;
	snprintf(ask->target, sizeof(ask->target), "%s", target);
	return ask;
}

static int admitted(uint32_t bench, uid_t uid, const struct ask_bounds *bounds, uint64_t now,
		    const char *rule)
{
	autofree struct ask *ask = ask_for(bench, uid, "/x");
	struct bm_error err = {};
	int r = asks_admit(&d.model, ask, bounds, now, &err);

	assert_string_equal(err.rule, rule);
	return r;
}

static struct ask *queued(uint32_t bench, uid_t uid, const char *target)
{
	struct ask *ask = ask_for(bench, uid, target);

	ask->number = asks_next_number(&d.model, bench);
	asks_add(&d.model, ask);
	return ask;
}

static int fresh(void **state)
{
	(void)state;
	forget();
	for (uint32_t i = 1; i <= 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "b%u", i);
		assert_non_null(model_add(&d.model, name, i));
	}
	return 0;
}

static void ids(void **state)
{
	static const char *const bad[] = {
		"",    "r",    "r0",       "r01",   "1",   "b1/", "b1/1", "b1/r0",  "/r1",
		"r1 ", "B/r1", "b1/r1/r2", "b1/rr", "r-1", "r+1", "r1x",  "b 1/r1", "r4294967296"
	};
	char bench[BM_BENCH_NAME_LEN], id[ASK_ID_LEN];
	uint32_t number;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ask_id_parse(bad[i], bench, &number), -EINVAL);
	assert_int_equal(ask_id_parse("b1/r3", bench, &number), 0);
	assert_string_equal(bench, "b1");
	assert_int_equal(number, 3);
	assert_int_equal(ask_id_parse("r4294967295", bench, &number), 0);
	assert_string_equal(bench, "");
	assert_string_equal(ask_id(queued(1, 7, "/x"), id), "b1/r1");
	assert_string_equal(ask_id(queued(0, 7, "/x"), id), "r1");
}

/* Neither one who asks nor all of them together grow the queue beyond its bounds. */
static void limits(void **state)
{
	static const struct ask_bounds bounds = { 5, 2, 5 };

	(void)state;
	assert_int_equal(admitted(1, 7, &bounds, NOW, ""), 0);
	queued(1, 7, "/a");
	queued(2, 7, "/a");
	assert_int_equal(admitted(3, 7, &bounds, NOW, "request-limit"), -EBUSY);
	assert_int_equal(admitted(0, 7, &bounds, NOW, "request-limit"), -EBUSY);
	/* Others still may, and the Bench itself, as long as no more than two are for it. */
	assert_int_equal(admitted(1, 8, &bounds, NOW, ""), 0);
	assert_int_equal(admitted(1, 0, &bounds, NOW, ""), 0);
	queued(1, 0, "/b");
	assert_int_equal(admitted(1, 8, &bounds, NOW, "request-limit"), -EBUSY);
	queued(3, 8, "/c");
	queued(0, 9, "/c");
	assert_int_equal(admitted(0, 10, &bounds, NOW, "request-limit"), -EBUSY);
	/* What is decided makes room. */
	asks_remove(&d.model, asks_find(&d.model, 3, 1));
	assert_int_equal(admitted(0, 10, &bounds, NOW, ""), 0);
	asks_remove_bench(&d.model, 1);
	assert_null(asks_find_id(&d.model, "b1/r1"));
	assert_non_null(asks_find_id(&d.model, "b2/r1"));
}

/* One user's Benches leave those of others room to ask, whoever asks. */
static void shares(void **state)
{
	static const struct ask_bounds bounds = { 5, 2, 3 };

	(void)state;
	model_find_id(&d.model, 1)->owner = 1501;
	model_find_id(&d.model, 2)->owner = 1501;
	queued(1, 0, "/a");
	queued(1, 7, "/a");
	assert_int_equal(admitted(2, 0, &bounds, NOW, ""), 0);
	queued(2, 0, "/a");
	assert_int_equal(admitted(2, 0, &bounds, NOW, "request-limit"), -EBUSY);
	assert_int_equal(admitted(2, 8, &bounds, NOW, "request-limit"), -EBUSY);
	/* What that user asks for themselves is of the same share; root's Bench has another. */
	assert_int_equal(admitted(0, 1501, &bounds, NOW, "request-limit"), -EBUSY);
	assert_int_equal(admitted(3, 0, &bounds, NOW, ""), 0);
	assert_int_equal(admitted(0, 1502, &bounds, NOW, ""), 0);
	asks_remove(&d.model, asks_find(&d.model, 1, 1));
	assert_int_equal(admitted(2, 0, &bounds, NOW, ""), 0);
}

/* A number is used once, whatever has become of it. */
static void numbers(void **state)
{
	(void)state;
	assert_int_equal(queued(1, 7, "/a")->number, 1);
	assert_int_equal(queued(1, 7, "/b")->number, 2);
	assert_int_equal(queued(2, 7, "/b")->number, 1);
	asks_remove(&d.model, asks_find(&d.model, 1, 2));
	assert_int_equal(queued(1, 7, "/c")->number, 3);
	assert_int_equal(asks_next_number(&d.model, 77), 0);
}

static void the_same_again(void **state)
{
	struct ask *first = queued(1, 7, "/a");
	autofree struct ask *again = ask_for(1, 7, "/a");

	(void)state;
	snprintf(again->why, sizeof(again->why), "another reason");
	assert_ptr_equal(asks_find_same(&d.model, again), first);
	again->writable = true;
	assert_null(asks_find_same(&d.model, again));
	again->writable = false;
	again->seconds = 1;
	assert_null(asks_find_same(&d.model, again));
	again->seconds = 0;
	again->kind = GRANT_NET;
	assert_null(asks_find_same(&d.model, again));
	again->kind = GRANT_FILE;
	snprintf(again->dest, sizeof(again->dest), "/elsewhere");
	assert_null(asks_find_same(&d.model, again));
	again->dest[0] = '\0';
	/* Of somebody else, it is another one. */
	again->uid = 8;
	assert_null(asks_find_same(&d.model, again));
	again->inside = true;
	assert_null(asks_find_same(&d.model, again));
}

static void rate(void **state)
{
	uint64_t now = NOW;

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(admitted(1, 7, &plenty, now, ""), 0);
	assert_int_equal(admitted(1, 7, &plenty, now, "request-rate"), -EAGAIN);
	/* From another Bench it is the same user; the Bench itself has its own. */
	assert_int_equal(admitted(2, 7, &plenty, now, "request-rate"), -EAGAIN);
	assert_int_equal(admitted(2, 8, &plenty, now, ""), 0);
	assert_int_equal(admitted(1, 0, &plenty, now, ""), 0);
	assert_int_equal(admitted(1, 7, &plenty, now + 29 * NS, "request-rate"), -EAGAIN);
	assert_int_equal(admitted(1, 7, &plenty, now + 30 * NS, ""), 0);
	assert_int_equal(admitted(1, 7, &plenty, now + 30 * NS, "request-rate"), -EAGAIN);
	/* And no more than ten at once, however long it was quiet. */
	now += 3600 * NS;
	for (int i = 0; i < 10; i++)
		assert_int_equal(admitted(1, 7, &plenty, now, ""), 0);
	assert_int_equal(admitted(1, 7, &plenty, now, "request-rate"), -EAGAIN);
}

/* Of more users than are remembered none is let through unnoticed, and none for ever kept out. */
static void many_askers(void **state)
{
	(void)state;
	for (uid_t uid = 1; uid <= ASKERS_MAX; uid++)
		for (int i = 0; i < 10; i++)
			assert_int_equal(admitted(0, uid, &plenty, NOW, ""), 0);
	assert_int_equal(admitted(0, 5000, &plenty, NOW, "request-rate"), -EAGAIN);
	assert_int_equal(admitted(0, 1, &plenty, NOW, "request-rate"), -EAGAIN);
	assert_int_equal(admitted(0, 5000, &plenty, NOW + 300 * NS, ""), 0);
}

static void due(void **state)
{
	(void)state;
	assert_int_equal(asks_due(&d.model), 0);
	queued(1, 7, "/a")->deadline_ns = 9;
	queued(0, 7, "/a")->deadline_ns = 4;
	queued(1, 7, "/b")->deadline_ns = 5;
	assert_int_equal(asks_due(&d.model), 4);
}

#define B(n) "'bench':'b" #n "','bench_id':" #n
#define ASKED(id, more)                                                                            \
	"{" more "'request':'" id "','kind':'file','target':'/srv/\xe2\x80\xaexyz','rights':'rw'," \
	"'dest':'/in/x','for':60,'why':'they \\\\u202e say','inside':false,'uid':1001,"            \
	"'asked':'t1','expires':'t2','deadline_ns':77}"

/* What of the queue comes from the ledger. */
static char *dump(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	fprintf(out, "last %u\n", d.model.last_ask);
	for (const struct bench *b = d.model.benches; b; b = b->next)
		fprintf(out, "%s last %u agent %d\n", b->name, b->last_ask, (int)b->agent);
	for (const struct ask *a = d.model.asks; a; a = a->next) {
		autojson *json = ask_to_json(a);

		fprintf(out, "%u %s\n", a->bench_id, json_object_to_json_string(json));
	}
	fclose(out);
	return text;
}

static void same_after_rotation(void)
{
	autofree char *before = NULL, *after = NULL;
	struct bm_error err = {};
	char old[64];

	replayed();
	before = dump();
	for (int i = 0; i < 2; i++) {
		if (ledger_rotate(&d, old, &err) != 0)
			fail_msg("%s", err.message);
		free(after);
		replayed();
		after = dump();
		assert_string_equal(before, after);
	}
}

/* Those that nobody decided are still there, and their numbers are used up for ever. */
static void replay(void **state)
{
	const struct ask *ask;

	(void)state;
	say("create", "{" B(1) ",'origin':'created','slot':0,'created':'t','agent':1001}");
	say("requested", ASKED("b1/r1", B(1) ","));
	say("requested", ASKED("b1/r2", B(1) ","));
	say("requested", ASKED("b1/r3", B(1) ","));
	say("requested", ASKED("b1/r4", B(1) ","));
	say("requested", "{'request':'r1','kind':'bench','target':'busybox','image':true,"
			 "'name':'mine','inside':false,'uid':1001,'asked':'t1','expires':'t2',"
			 "'deadline_ns':78}");
	say("requested", "{'request':'r2','kind':'bench','target':'/root','image':false,"
			 "'inside':false,'uid':1001,'asked':'t1','expires':'t2','deadline_ns':78}");
	say("rejected", "{" B(1) ",'request':'b1/r1','uid':0}");
	say("expired", "{" B(1) ",'request':'b1/r4'}");
	say("void", "{'request':'r2'}");
	same_after_rotation();
	assert_null(asks_find_id(&d.model, "b1/r1"));
	assert_null(asks_find_id(&d.model, "b1/r4"));
	assert_null(asks_find_id(&d.model, "r2"));
	assert_int_equal(asks_next_number(&d.model, 1), 5);
	assert_int_equal(asks_next_number(&d.model, 0), 3);
	assert_int_equal(model_find(&d.model, "b1")->agent, 1001);
	ask = asks_find_id(&d.model, "b1/r2");
	assert_non_null(ask);
	assert_string_equal(ask->target, "/srv/\xe2\x80\xaexyz");
	assert_true(ask->writable && !ask->inside);
	assert_int_equal(ask->seconds, 60);
	ask = asks_find_id(&d.model, "r1");
	assert_true(ask && ask->image);
	assert_string_equal(ask->bench, "mine");
	/* Granted, and then it crashed: it is not granted a second time. */
	say("grant", "{" B(1) ",'id':'b1/1','kind':'net','created':'t3','request':'b1/r2',"
			      "'confirmed':{'uid':0,'how':'yes'},"
			      "'destination':'198.51.100.10:80/tcp'}");
	say("create", "{" B(2) ",'origin':'created','slot':1,'created':'t','request':'r1'}");
	same_after_rotation();
	assert_null(asks_find_id(&d.model, "b1/r2"));
	assert_null(asks_find_id(&d.model, "r1"));
	assert_non_null(asks_find_id(&d.model, "b1/r3"));
	assert_int_equal(bench_grant(model_find(&d.model, "b1"), 1)->ask, 2);
	/* With its Bench it goes. */
	say("destroy", "{" B(1) "}");
	same_after_rotation();
	assert_null(d.model.asks);
}

static void nonsense(void **state)
{
	static const char *const lines[] = {
		ASKED("b2/r1", B(1) ","),
		ASKED("r1", B(2) ","),
		ASKED("b2/r1", ""),
		ASKED("b9/r1", "'bench':'b9','bench_id':9,"),
		ASKED("b2/x1", B(2) ","),
		"{" B(2) ",'request':'b2/r1','kind':'bench','target':'/x','deadline_ns':5}",
		"{" B(2) ",'request':'b2/r1','kind':'file','deadline_ns':5}",
		"{" B(2) ",'request':'b2/r1','kind':'file','target':'/x','deadline_ns':-5}",
		"{" B(2) ",'request':'b2/r1','kind':'file','target':7,'deadline_ns':5}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		autofree char *text = strdup(lines[i]);
		autojson *json = NULL;

		assert_non_null(text);
		for (char *p = text; *p; p++)
			if (*p == '\'')
				*p = '"';
		assert_int_equal(bm_json_parse(text, strlen(text), "line", &json, NULL), 0);
		assert_int_equal(asks_replay(&d.model, "requested", json), -EBADMSG);
		assert_null(d.model.asks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ids, fresh),
		cmocka_unit_test_setup(limits, fresh),
		cmocka_unit_test_setup(shares, fresh),
		cmocka_unit_test_setup(numbers, fresh),
		cmocka_unit_test_setup(the_same_again, fresh),
		cmocka_unit_test_setup(rate, fresh),
		cmocka_unit_test_setup(many_askers, fresh),
		cmocka_unit_test_setup(due, fresh),
		cmocka_unit_test(replay),
		cmocka_unit_test_setup(nonsense, fresh),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
