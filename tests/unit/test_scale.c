// SPDX-License-Identifier: GPL-2.0-only
/* What many Benches with many grants cost the daemon: memory, and looking one up. */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "bench/box.h"
#include "ledger_model.h"

#define BENCHES 100
#define GRANTS 50
/* 64 MB for a thousand Benches with a hundred grants each, and some of that is the daemon's own. */
#define OF_BENCH 10000
#define OF_GRANT 460

static const char created[] = "2026-01-02T03:04:05.000000006Z";

static void a_bench(unsigned id)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{'bench':'bench-%u','bench_id':%u,'origin':'created','slot':%u,'exec':'own',"
		 "'userns':false,'created':'%s'}",
		 id, id, id, created);
	say("create", text);
	snprintf(text, sizeof(text),
		 "{'bench':'bench-%u','bench_id':%u,'pid':%u,'pid_start':12345678,"
		 "'cgroup':'/benchmon/bench-%u','cgroup_id':%u,'namespaces':{'pid':4026531836,"
		 "'mnt':4026531841,'net':4026531840,'uts':4026531838,'ipc':4026531839,"
		 "'cgroup':4026531835,'user':4026531837},'shared':[]}",
		 id, id, 1000 + id, id, 5000 + id);
	say("ready", text);
}

static void a_grant(unsigned id, unsigned number)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{'bench':'bench-%u','bench_id':%u,'id':'bench-%u/%u','kind':'file',"
		 "'created':'%s','confirmed':{'uid':0,'how':'yes'},"
		 "'source':'/srv/projects/bench-%u/directory-%u','dest':'/in/directory-%u',"
		 "'rights':'ro','directory':true,'idmap':true,'on_revoke':'kill','object':%u,"
		 "'device':65024,'inode':%u}",
		 id, id, id, number, created, id, number, number, id * 1000 + number,
		 id * 1000 + number);
	say("grant", text);
}

static void memory(void **state)
{
	size_t before, used;

	(void)state;
	for (unsigned id = 1; id <= BENCHES; id++) {
		a_bench(id);
		for (unsigned number = 1; number <= GRANTS; number++)
			a_grant(id, number);
	}
	forget();
	malloc_trim(0);
	before = mallinfo2().uordblks;
	replayed();
	used = mallinfo2().uordblks - before;
	print_message("%d Benches with %d grants: %zu bytes\n", BENCHES, GRANTS, used);
	for (unsigned id = 1; id <= BENCHES; id++) {
		const struct bench *bench = model_find_id(&d.model, id);

		assert_non_null(bench);
		assert_int_equal(bench->grant_count, GRANTS);
	}
	assert_true(used <= BENCHES * (OF_BENCH + GRANTS * OF_GRANT));
}

static struct bench *add(unsigned id)
{
	char name[BM_BENCH_NAME_LEN];
	struct bench *bench;

	snprintf(name, sizeof(name), "b%u", id);
	bench = model_add(&d.model, name, id);
	assert_non_null(bench);
	return bench;
}

/* Also of those whose hash is the same, and when some have gone: from the ends and in between. */
static void looked_up(void **state)
{
	static const unsigned gone[] = { 1, 2, 1025, 2049, 1500, 3000 };
	char name[BM_BENCH_NAME_LEN];
	unsigned left = 3001, last = 0;

	(void)state;
	for (unsigned id = 1; id <= 3000; id++)
		add(id);
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++, left--)
		model_remove(&d.model, model_find_id(&d.model, gone[i]));
	add(3001);
	for (unsigned id = 1; id <= 3001; id++) {
		const struct bench *bench = model_find_id(&d.model, id);
		bool there = true;

		for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
			there &= gone[i] != id;
		snprintf(name, sizeof(name), "b%u", id);
		assert_ptr_equal(bench, model_find(&d.model, name));
		assert_int_equal(bench != NULL, there);
		assert_true(!bench || bench->id == id);
	}
	for (const struct bench *bench = d.model.benches; bench; bench = bench->next, left--) {
		assert_true(bench->id > last);
		last = bench->id;
	}
	assert_int_equal(left, 0);
	assert_int_equal(last, 3001);
	model_free_name(&d.model, name);
	assert_string_equal(name, "b1");
}

/* The last of the id ranges is given, and then none. */
static void slots(void **state)
{
	uint32_t slot = 0;

	(void)state;
	for (unsigned id = 1; id <= BM_ID_SLOTS; id++) {
		struct bench *bench;

		assert_int_equal(model_free_slot(&d.model, &slot), 0);
		bench = add(id);
		bench->origin = ORIGIN_CREATED;
		bench->slot = slot;
	}
	assert_int_equal(slot, BM_ID_SLOTS - 1);
	assert_int_equal(model_free_slot(&d.model, &slot), -ENOSPC);
	model_remove(&d.model, model_find_id(&d.model, 7));
	assert_int_equal(model_free_slot(&d.model, &slot), 0);
	assert_int_equal(slot, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(memory, setup, teardown),
		cmocka_unit_test_setup_teardown(looked_up, setup, teardown),
		cmocka_unit_test_setup_teardown(slots, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
