// SPDX-License-Identifier: GPL-2.0-only
/* The model that a ledger makes, and what it lets stand in the kernel. */
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

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "gatekeeperd/nested.h"
#include "gatekeeperd/replay.h"
#include "ledger_model.h"

#define SHARED (BM_BENCH_SHARED_IPC | BM_BENCH_SHARED_NET | BM_BENCH_SHARED_PID)
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* A ledger without a line. */
static void fresh(void)
{
	forget();
	bm_ledger_close(d.ledger);
	d.ledger = NULL;
	emptied();
	assert_int_equal(bm_ledger_open(dir, NULL, &d.ledger, NULL), 0);
}

#define B1 "'bench':'b1','bench_id':1"
#define CREATE_B1 "{" B1 ",'origin':'created','slot':4,'created':'t1'}"
#define FILE_FIELDS                                                                                \
	",'created':'t2','confirmed':{'uid':1000,'how':'tty'},'source':'/s','dest':'/d',"          \
	"'directory':true,'idmap':false,'device':5,'inode':6,'kind':'file'"
#define FILE_GRANT(id, rights, object)                                                             \
	"{" B1 ",'id':'" id "','rights':'" rights "','object':" #object FILE_FIELDS "}"
#define NET_GRANT(id, destination)                                                                 \
	"{" B1 ",'id':'" id "','kind':'net','created':'t3','confirmed':{'uid':0,'how':'yes'},"     \
	"'destination':'" destination "'}"

static void nothing(void **state)
{
	(void)state;
	replayed();
	assert_null(d.model.benches);
	assert_int_equal(d.model.last_bench, 0);
}

static void life_of_a_bench(void **state)
{
	struct bench *bench;
	struct grant *g;

	(void)state;
	say("start", "{}");
	say("create", CREATE_B1);
	replayed();
	bench = d.model.benches;
	assert_string_equal(bench->name, "b1");
	assert_int_equal(bench->id, 1);
	assert_int_equal(bench->slot, 4);
	assert_int_equal(bench->origin, ORIGIN_CREATED);
	assert_int_equal(bench->state, BENCH_MAKING);
	assert_string_equal(bench->created, "t1");
	assert_string_equal(bench->cgroup.path, "");
	assert_int_equal(bench->cgroup.fd, -1);
	assert_int_equal(bench->pid, 0);

	say("own-objects", "{" B1 ",'objects':[{'what':'rootfs','path':'/','rights':'rwx'}],"
			   "'detached':[{'what':'ext4','path':'/vol'}]}");
	say("ready", "{" B1 ",'pid':99,'pid_start':12345678901,'cgroup':'/benchmon/b1'}");
	say("grant", FILE_GRANT("b1/1", "rw", 70));
	say("grant", NET_GRANT("b1/2", "198.51.100.10:80/tcp"));
	replayed();
	bench = d.model.benches;
	assert_int_equal(bench->state, BENCH_READY);
	assert_int_equal(bench->pid, 99);
	assert_int_equal(bench->pid_start, 12345678901);
	assert_string_equal(bench->cgroup.path, "/benchmon/b1");
	assert_int_equal(json_object_array_length(bench->detached), 1);
	assert_int_equal(bench->grant_count, 2);
	g = bench_grant(bench, 1);
	assert_int_equal(g->kind, GRANT_FILE);
	assert_int_equal(g->object, 70);
	assert_int_equal(g->device, 5);
	assert_int_equal(g->inode, 6);
	assert_true(g->writable);
	assert_int_equal(g->confirmed_uid, 1000);
	assert_int_equal(bench_grant(bench, 2)->hosts.list[0].list[0].to.port, 80);

	say("revoke", "{" B1 ",'grant':1}");
	replayed();
	bench = d.model.benches;
	assert_null(bench_grant(bench, 1));
	assert_int_equal(bench->grant_count, 1);
	assert_int_equal(bench->last_grant, 2);

	say("destroy", "{" B1 "}");
	replayed();
	assert_null(d.model.benches);
	assert_int_equal(d.model.last_bench, 1);
}

static void attached(void **state)
{
	(void)state;
	say("attach", "{'bench':'db','bench_id':9,'origin':'attached','container':'pg',"
		      "'created':'t','pid':7,'pid_start':8,'cgroup':'/machine/pg'}");
	replayed();
	assert_int_equal(d.model.benches->origin, ORIGIN_ATTACHED);
	assert_int_equal(d.model.benches->state, BENCH_MAKING);
	assert_string_equal(d.model.benches->container, "pg");
	assert_string_equal(d.model.benches->cgroup.path, "/machine/pg");
	assert_int_equal(d.model.benches->pid, 7);
	say("detach", "{'bench':'db','bench_id':9}");
	replayed();
	assert_null(d.model.benches);
}

static void one_name_twice(void **state)
{
	(void)state;
	say("create", CREATE_B1);
	say("grant", FILE_GRANT("b1/1", "ro", 70));
	say("grant", FILE_GRANT("b1/2", "ro", 71));
	say("destroy", "{" B1 "}");
	say("create", "{'bench':'b1','bench_id':2,'origin':'created','slot':0}");
	replayed();
	assert_null(d.model.benches->next);
	assert_int_equal(d.model.benches->id, 2);
	assert_null(d.model.benches->grants);
	assert_int_equal(d.model.benches->last_grant, 0);
	/* A line about the first one is about none. */
	say("grant", FILE_GRANT("b1/3", "ro", 72));
	forget();
	assert_int_equal(replay_ledger(&d, NULL), -EBADMSG);
}

/* Its end could not be written; that the name was free again says as much. */
static void end_unwritten(void **state)
{
	(void)state;
	say("create", CREATE_B1);
	say("grant", FILE_GRANT("b1/1", "ro", 70));
	say("create", "{'bench':'b1','bench_id':2,'origin':'created','slot':0}");
	replayed();
	assert_null(d.model.benches->next);
	assert_int_equal(d.model.benches->id, 2);
	assert_null(d.model.benches->grants);
	say("destroy", "{" B1 "}");
	replayed();
	assert_int_equal(d.model.benches->id, 2);
}

static void several(void **state)
{
	(void)state;
	say("create", CREATE_B1);
	say("create", "{'bench':'b2','bench_id':2,'origin':'created','slot':1}");
	say("grant", FILE_GRANT("b1/1", "ro", 70));
	say("grant",
	    "{'bench':'b2','bench_id':2,'id':'b2/1','rights':'rw','object':70" FILE_FIELDS "}");
	say("revoke", "{'bench':'b2','bench_id':2,'grant':1}");
	replayed();
	assert_non_null(bench_grant(model_find(&d.model, "b1"), 1));
	assert_null(bench_grant(model_find(&d.model, "b2"), 1));
	say("destroy", "{" B1 "}");
	replayed();
	assert_null(model_find(&d.model, "b1"));
	assert_non_null(model_find(&d.model, "b2"));
}

/* Also of a grant that came to nothing, which the ledger knows by its end alone. */
static void numbers_are_used_up(void **state)
{
	(void)state;
	say("create", CREATE_B1);
	say("grant", FILE_GRANT("b1/1", "ro", 70));
	say("revoke", "{" B1 ",'grant':1}");
	replayed();
	assert_int_equal(d.model.benches->last_grant, 1);
	say("revoke", "{" B1 ",'grant':7,'reason':'failed'}");
	replayed();
	assert_int_equal(d.model.benches->last_grant, 7);
	assert_int_equal(d.model.benches->grant_count, 0);
	say("grant", FILE_GRANT("b1/8", "ro", 70));
	say("revoke", "{" B1 ",'grant':3}");
	replayed();
	assert_int_equal(d.model.benches->last_grant, 8);
	assert_int_equal(d.model.benches->grant_count, 1);
}

static void lines_of_no_bench(void **state)
{
	(void)state;
	say("start", "{'version':'0.1.0'}");
	say("create", "{'bench_id':1,'origin':'created'}");
	say("something-new", "{'x':1}");
	say("create", CREATE_B1);
	/* A later version's: what it says of a Bench that is there is no decision known here. */
	say("frozen", "{" B1 "}");
	replayed();
	assert_null(d.model.benches->next);
	assert_int_equal(d.model.benches->state, BENCH_MAKING);
}

static void malformed(void **state)
{
	static const struct {
		const char *event, *fields;
	} cases[] = {
		/* Which Bench? */
		{ "ready", "{'bench':'b1'}" },
		{ "ready", "{'bench':'b1','bench_id':'1'}" },
		{ "ready", "{'bench':'b1','bench_id':0}" },
		{ "ready", "{'bench':'b1','bench_id':-1}" },
		{ "ready", "{'bench':'b1','bench_id':4294967297}" },
		{ "ready", "{'bench':'b1','bench_id':2}" },
		{ "ready", "{'bench':'B1','bench_id':1}" },
		{ "ready", "{'bench':'','bench_id':1}" },
		{ "ready", "{'bench':'../b1','bench_id':1}" },
		{ "grant", "{'bench':'b2','bench_id':2,'grant':1}" },
		{ "revoke", "{'bench':'b2','bench_id':2,'grant':1}" },
		{ "something-new", "{'bench':'b2','bench_id':2}" },
		/* It is there. */
		{ "create", CREATE_B1 },
		/* How did it come to be? */
		{ "create", "{'bench':'b2','bench_id':2,'slot':1}" },
		{ "create", "{'bench':'b2','bench_id':2,'origin':'found','slot':1}" },
		/* A mode that this version does not know may be a stricter one. */
		{ "create", "{'bench':'b2','bench_id':2,'origin':'created','exec':'none'}" },
		{ "ready", "{" B1 ",'shared':['host']}" },
		/* What is granted? */
		{ "grant", "{" B1 "}" },
		{ "grant", FILE_GRANT("b1", "ro", 70) },
		{ "grant", FILE_GRANT("b1/0", "ro", 70) },
		{ "grant", FILE_GRANT("b1/1", "ro", "x") },
		{ "grant", NET_GRANT("b1/1", "example.org:80/tcp") },
		{ "revoke", "{" B1 "}" },
		{ "revoke", "{" B1 ",'grant':'1'}" },
		{ "revoke", "{" B1 ",'grant':'b1/1'}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bm_error err = {};
		char expected[128];
		int r;

		fresh();
		say("create", CREATE_B1);
		say("start", "{}");
		say(cases[i].event, cases[i].fields);
		say("start", "{}");
		r = replay_ledger(&d, &err);
		if (r != -EBADMSG)
			fail_msg("%d: %s %s", r, cases[i].event, cases[i].fields);
		snprintf(expected, sizeof(expected), "ledger line 4: \"%s\" makes no sense",
			 cases[i].event);
		assert_string_equal(err.message, expected);
		assert_int_equal(err.code, EBADMSG);
		assert_string_equal(err.rule, "ledger");
	}
}

static void modes(void **state)
{
	static const struct {
		const char *begin, *ready;
		uint32_t flags;
	} cases[] = {
		{ CREATE_B1, "{" B1 "}", BM_BENCH_HOLDER },
		{ "{" B1 ",'origin':'created','exec':'own'}", "{" B1 "}", BM_BENCH_HOLDER },
		{ "{" B1 ",'origin':'created','exec':'image'}", "{" B1 "}",
		  BM_BENCH_HOLDER | BM_BENCH_IMAGE },
		{ "{" B1 ",'origin':'attached','userns':true}", "{" B1 "}", BM_BENCH_USERNS },
		{ "{" B1 ",'origin':'attached'}", "{" B1 ",'shared':['ipc','net','pid','uts']}",
		  SHARED },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh();
		say("attach", cases[i].begin);
		say("ready", cases[i].ready);
		replayed();
		assert_int_equal(bench_flags(d.model.benches), cases[i].flags);
	}
}

/* --- what of the kernel's tables may stay ----------------------------------------------------- */

static void three_grants(void)
{
	say("create", CREATE_B1);
	say("grant", FILE_GRANT("b1/1", "ro", 70));
	say("grant", FILE_GRANT("b1/2", "rw", 71));
	say("grant", NET_GRANT("b1/3", "198.51.100.10:80/tcp"));
	replayed();
}

static void kept_grants(void **state)
{
	static const struct {
		uint32_t bench;
		uint64_t object;
		uint32_t rights, grant;
		bool kept;
	} cases[] = {
		{ 1, 70, BM_R, 1, true },
		{ 1, 71, BM_R | BM_W, 2, true },
		{ 1, 71, BM_R, 2, true },
		/* A tombstone gives nothing, and says what is to be finished. */
		{ 1, 70, 0, 1, true },
		/* Own objects. */
		{ 1, 5, BM_R | BM_W | BM_X, 0, true },
		/* More than the ledger has. */
		{ 1, 70, BM_R | BM_W, 1, false },
		{ 1, 70, BM_W, 1, false },
		{ 1, 70, BM_R | BM_X, 1, false },
		{ 1, 71, BM_R | BM_W | BM_X, 2, false },
		{ 1, 71, BM_X, 2, false },
		{ 1, 71, 8, 2, false },
		/* Of another object, of no grant, of a grant that is no file. */
		{ 1, 71, BM_R, 1, false },
		{ 1, 72, BM_R, 2, false },
		{ 1, 70, BM_R, 4, false },
		{ 1, 70, BM_R, 3, false },
		{ 1, 0, BM_R, 3, false },
		/* Of no Bench. */
		{ 2, 70, BM_R, 1, false },
		{ 2, 5, BM_R, 0, false },
		{ 0, 70, BM_R, 1, false },
	};
	struct bm_keep keep;

	(void)state;
	three_grants();
	keep = replay_keep(&d.model);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bm_grant_key key = { .bench = cases[i].bench, .object = cases[i].object };
		struct bm_grant value = { .rights = cases[i].rights, .grant = cases[i].grant };

		if (keep.grant(keep.ctx, &key, &value) != cases[i].kept)
			fail_msg("line %zu", i);
	}
}

static void kept_destinations(void **state)
{
	static const struct {
		uint32_t bench;
		const char *destination;
		uint32_t grant;
		bool kept;
	} cases[] = {
		{ 1, "198.51.100.10:80/tcp", 3, true },  { 1, "198.51.100.11:80/tcp", 3, false },
		{ 1, "198.51.100.10:81/tcp", 3, false }, { 1, "198.51.100.10:80/udp", 3, false },
		{ 1, "[2001:db8::1]:80/tcp", 3, false }, { 1, "198.51.100.10:80/tcp", 1, false },
		{ 1, "198.51.100.10:80/tcp", 4, false }, { 1, "198.51.100.10:80/tcp", 0, false },
		{ 2, "198.51.100.10:80/tcp", 3, false }, { 0, "198.51.100.10:80/tcp", 3, false },
	};
	struct bm_keep keep;

	(void)state;
	three_grants();
	keep = replay_keep(&d.model);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bm_dest value = { .grant = cases[i].grant };
		struct bm_destination destination;
		struct bm_dest_key key = {};

		assert_int_equal(bm_destination_parse(cases[i].destination, &destination, NULL), 0);
		key.bench = cases[i].bench;
		key.port = htons(destination.port);
		key.protocol = destination.protocol;
		memcpy(key.address, destination.address, sizeof(key.address));
		if (keep.dest(keep.ctx, &key, &value) != cases[i].kept)
			fail_msg("line %zu", i);
	}
}

/* What was revoked before the daemon died does not come back by the kernel's word. */
static void revoked_is_not_kept(void **state)
{
	struct bm_grant_key key = { .bench = 1, .object = 71 };
	struct bm_grant value = { .rights = BM_R, .grant = 2 };
	struct bm_keep keep;

	(void)state;
	three_grants();
	keep = replay_keep(&d.model);
	assert_true(keep.grant(keep.ctx, &key, &value));
	say("revoke", "{" B1 ",'grant':2}");
	replayed();
	assert_false(keep.grant(keep.ctx, &key, &value));
	say("destroy", "{" B1 "}");
	replayed();
	value.grant = 0;
	assert_false(keep.grant(keep.ctx, &key, &value));
}

/* The end of the first could not be written; the name was free all the same. */
static void namesake_of_one_without_end(void **state)
{
	struct bm_error err = {};

	(void)state;
	fresh();
	say("create", CREATE_B1);
	say("create", "{'bench':'b1','bench_id':2,'origin':'created','slot':1}");
	say("destroy", "{'bench':'b1','bench_id':1}");
	say("destroy", "{'bench':'b7','bench_id':7}");
	assert_int_equal(replay_ledger(&d, &err), 0);
	assert_null(model_find_id(&d.model, 1));
	assert_int_equal(model_find(&d.model, "b1")->id, 2);
}

#define EXCEPTS                                                                                    \
	",'except':[{'name':'.env','rights':'none','objects':[70]},"                               \
	"{'name':'a/.git','rights':'ro','objects':[70,75]}]"
#define EXCEPTING_GRANT(id)                                                                        \
	"{" B1 ",'id':'" id "','rights':'rw','object':70" EXCEPTS FILE_FIELDS "}"

/* Closed by its revocation: the tombstone stays, by whatever number, and nothing else. */
static void closed_is_kept(void **state)
{
	struct bm_grant_key key = { .bench = 1, .object = 71 };
	struct bm_grant value = { .grant = 2 };
	struct bm_keep keep;
	struct bench *bench;

	(void)state;
	three_grants();
	say("revoke", "{" B1 ",'grant':2,'closed':true}");
	replayed();
	keep = replay_keep(&d.model);
	bench = d.model.benches;
	assert_null(bench_grant(bench, 2));
	assert_int_equal(bench->grant_count, 2);
	assert_true(bench_closed_object(bench, 71)->closed);
	assert_true(keep.grant(keep.ctx, &key, &value));
	value.grant = 9;
	assert_true(keep.grant(keep.ctx, &key, &value));
	value = (struct bm_grant){ .rights = BM_R, .grant = 2 };
	assert_false(keep.grant(keep.ctx, &key, &value));
	/* Granted again, and in vain: still closed. */
	say("grant", FILE_GRANT("b1/4", "ro", 71));
	say("revoke", "{" B1 ",'grant':4,'reason':'failed','closed':true}");
	replayed();
	value.rights = 0;
	assert_true(keep.grant(keep.ctx, &key, &value));
	assert_int_equal(bench_closed_object(d.model.benches, 71)->number, 4);
	say("grant", FILE_GRANT("b1/5", "ro", 71));
	replayed();
	assert_null(bench_closed_object(d.model.benches, 71));
	say("revoke", "{" B1 ",'grant':5,'mounts':[81,82]}");
	replayed();
	/* Something may still be held of it; the mounts say through what. */
	assert_int_equal(d.model.benches->revoked->number, 5);
	assert_int_equal(d.model.benches->revoked->mounts[1], 82);
	assert_int_equal(d.model.benches->revoked->mounts[2], 0);
	assert_true(keep.grant(keep.ctx, &key, &value));
	value.rights = BM_R;
	assert_false(keep.grant(keep.ctx, &key, &value));
}

static void kept_excepts(void **state)
{
	static const struct {
		uint32_t bench;
		uint64_t object;
		const char *name;
		bool kept;
	} cases[] = {
		{ 1, 70, ".env", true },  { 1, 75, ".git", true },    { 1, 70, "a", true },
		{ 1, 75, ".env", false }, { 1, 70, ".git", false },   { 1, 70, ".en", false },
		{ 2, 70, ".env", false }, { 1, 71, ".env", false },   { 1, 70, "", false },
		{ 1, 75, "a", false },    { 1, 70, "a/.git", false },
	};

	(void)state;
	say("create", CREATE_B1);
	say("grant", EXCEPTING_GRANT("b1/1"));
	/* While it is closed, too. */
	for (int round = 0; round < 2; round++) {
		struct bm_keep keep;

		replayed();
		keep = replay_keep(&d.model);
		for (size_t i = 0; i < COUNT(cases); i++) {
			struct bm_except_key key = { .bench = cases[i].bench,
						     .object = cases[i].object };
			struct bm_except value = {};

			snprintf(key.name, sizeof(key.name), "%s", cases[i].name);
			if (keep.except(keep.ctx, &key, &value) != cases[i].kept)
				fail_msg("line %zu of round %d", i, round);
		}
		say("revoke", "{" B1 ",'grant':1,'closed':true}");
	}
	fresh();
	say("create", CREATE_B1);
	say("grant", EXCEPTING_GRANT("b1/1"));
	say("revoke", "{" B1 ",'grant':1}");
	replayed();
	assert_false(excepts_have(d.model.benches, 70, ".env"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(namesake_of_one_without_end, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(life_of_a_bench, setup, teardown),
		cmocka_unit_test_setup_teardown(modes, setup, teardown),
		cmocka_unit_test_setup_teardown(attached, setup, teardown),
		cmocka_unit_test_setup_teardown(one_name_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(end_unwritten, setup, teardown),
		cmocka_unit_test_setup_teardown(several, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_are_used_up, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_of_no_bench, setup, teardown),
		cmocka_unit_test_setup_teardown(malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(kept_grants, setup, teardown),
		cmocka_unit_test_setup_teardown(kept_destinations, setup, teardown),
		cmocka_unit_test_setup_teardown(revoked_is_not_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(kept_excepts, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
