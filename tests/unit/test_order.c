// SPDX-License-Identifier: GPL-2.0-only
/* Events come in any order: they are told in that of their numbers, and what is missing exactly. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "audit/order.h"
#include "base/json.h"

static struct bm_order order;

static int teardown(void **state)
{
	(void)state;
	bm_order_done(&order);
	return 0;
}

static int put(uint64_t seq)
{
	return bm_order_put(&order, seq, json_object_new_int64((int64_t)seq));
}

static uint64_t next(void)
{
	autojson *json = bm_order_next(&order);

	return json ? (uint64_t)json_object_get_int64(json) : 0;
}

static void two_cpus(void **state)
{
	(void)state;
	assert_int_equal(put(2), 0);
	assert_int_equal(next(), 0);
	assert_int_equal(put(3), 0);
	assert_int_equal(put(1), 0);
	for (uint64_t seq = 1; seq <= 3; seq++)
		assert_int_equal(next(), seq);
	assert_int_equal(next(), 0);
}

static void gaps_are_exact(void **state)
{
	uint64_t first, last;

	(void)state;
	put(9), put(5), put(6);
	/* 4 may still come. */
	assert_true(bm_order_gap(&order, 3, &first, &last));
	assert_int_equal(first, 1);
	assert_int_equal(last, 3);
	assert_false(bm_order_gap(&order, 3, &first, &last));
	assert_int_equal(put(4), 0);
	assert_int_equal(next(), 4);
	assert_int_equal(next(), 5);
	assert_int_equal(next(), 6);
	assert_int_equal(next(), 0);
	assert_true(bm_order_gap(&order, 20, &first, &last));
	assert_int_equal(first, 7);
	assert_int_equal(last, 8);
	assert_int_equal(next(), 9);
	assert_true(bm_order_gap(&order, 20, &first, &last));
	assert_int_equal(first, 10);
	assert_int_equal(last, 20);
	assert_false(bm_order_gap(&order, 20, &first, &last));
}

/* A daemon that was killed between writing it and telling the ring so reads it again. */
static void nothing_is_told_twice(void **state)
{
	(void)state;
	order.told = 7;
	assert_int_equal(put(7), -EEXIST);
	assert_int_equal(put(9), 0);
	assert_int_equal(put(9), -EEXIST);
	assert_int_equal(put(8), 0);
	assert_int_equal(next(), 8);
	assert_int_equal(next(), 9);
	assert_int_equal(put(8), -EEXIST);
}

/* Any order of many: each is told once, those left out are counted, and all together are all. */
static void any_order(void **state)
{
	uint64_t told = 0, missing = 0, first, last, seq, state_of = 1;

	(void)state;
	for (uint64_t round = 0; round < 50; round++) {
		for (uint64_t i = 0; i < 100; i++) {
			/* 37 is prime to 100: each of the hundred once. */
			seq = round * 100 + i * 37 % 100 + 1;
			state_of = state_of * 6364136223846793005u + 1442695040888963407u;
			if (state_of >> 62)
				assert_int_equal(put(seq), 0);
			while ((seq = next())) {
				assert_int_equal(seq, told + missing + 1);
				told++;
			}
		}
		while (bm_order_gap(&order, round * 100 + 100, &first, &last)) {
			assert_int_equal(first, told + missing + 1);
			missing += last - first + 1;
			while ((seq = next())) {
				assert_int_equal(seq, told + missing + 1);
				told++;
			}
		}
	}
	assert_int_equal(told + missing, 5000);
	assert_true(missing > 1000 && told > 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(two_cpus, teardown),
		cmocka_unit_test_teardown(gaps_are_exact, teardown),
		cmocka_unit_test_teardown(nothing_is_told_twice, teardown),
		cmocka_unit_test_teardown(any_order, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
