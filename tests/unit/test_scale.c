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
#include <unistd.h>

#include <cmocka.h>

#include "bench/box.h"
#include "ledger_model.h"

/*
 * gatekeeperd(8), HOW MUCH THERE MAY BE: what the allocator takes from the kernel for them,
 * measured to within the third that may be off either way. The daemon's own is 16 MiB: so a
 * thousand Benches with a hundred grants each stay below 64 MB.
 */
#define OF_BENCH 3000
#define OF_GRANT 370
#define OWN (16 << 20)
#define ALL 64000000

/* The sanitizers' allocator counts nothing, and keeps what is freed. */
#ifdef __SANITIZE_ADDRESS__
#define MEASURED false
#else
#define MEASURED true
#endif

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

static size_t resident(void)
{
	unsigned long size, pages;
	FILE *file = fopen("/proc/self/statm", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &size, &pages), 2);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Replayed as the daemon does, which gives back what that took; *ret is what the model keeps. */
static size_t replayed_in(unsigned benches, unsigned grants, size_t *ret)
{
	size_t before, allocated;

	for (unsigned id = 1; id <= benches; id++) {
		a_bench(id);
		for (unsigned number = 1; number <= grants; number++)
			a_grant(id, number);
	}
	forget();
	malloc_trim(0);
	allocated = mallinfo2().uordblks;
	before = resident();
	replayed();
	malloc_trim(0);
	*ret = mallinfo2().uordblks - allocated;
	for (unsigned id = 1; id <= benches; id++) {
		const struct bench *bench = model_find_id(&d.model, id);

		assert_non_null(bench);
		assert_int_equal(bench->grant_count, grants);
	}
	return resident() - before;
}

/* With as many as there may be only where there is time: a line of the ledger each. */
static void memory(void **state)
{
	bool full = getenv("E2E_FULL") && *getenv("E2E_FULL");
	unsigned benches = full ? 1000 : 100, grants = full ? 100 : 50;
	size_t kept, grown = replayed_in(benches, grants, &kept);
	size_t bound = benches * (OF_BENCH + (size_t)grants * OF_GRANT);

	(void)state;
	print_message("%u Benches with %u grants: %zu bytes, %zu KiB more are resident\n", benches,
		      grants, kept, grown >> 10);
	if (!MEASURED)
		return;
	/* That is off by as much as there was before of pages that are half used. */
	assert_true(grown <= bound + (512 << 10));
	assert_true(kept <= bound);
	assert_true(kept >= bound * 2 / 3);
	if (full)
		assert_true(OWN + grown <= ALL);
	else
		assert_true(OWN + kept * 20 <= ALL);
}

/* What one Bench takes, of which nothing was granted. */
static void memory_of_benches(void **state)
{
	size_t kept;

	(void)state;
	replayed_in(100, 0, &kept);
	print_message("of a Bench: %zu bytes\n", kept / 100);
	if (MEASURED)
		assert_in_range(kept / 100, OF_BENCH * 2 / 3, OF_BENCH);
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
		cmocka_unit_test_setup_teardown(memory_of_benches, setup, teardown),
		cmocka_unit_test_setup_teardown(looked_up, setup, teardown),
		cmocka_unit_test_setup_teardown(slots, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
