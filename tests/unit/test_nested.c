// SPDX-License-Identifier: GPL-2.0-only
/* Which grant lies in which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/pin.h"
#include "gatekeeperd/nested.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* What is mounted within another goes first, the innermost of them all. */
static void inner_ones_go_first(void **state)
{
	static const char *const dests[] = { "/in/p", "/in/p/a/b", "/in/p/a", "/in/pp", "/in/q" };
	struct model model = {};
	struct bench *bench = model_add(&model, "b1", 1);

	(void)state;
	assert_non_null(bench);
	for (uint32_t i = 0; i < COUNT(dests); i++) {
		struct grant *g = calloc(1, sizeof(*g));

		assert_non_null(g);
		g->number = i + 1;
		g->kind = GRANT_FILE;
		g->over = i == 1 || i == 2;
		g->dest = strdup(dests[i]);
		assert_non_null(g->dest);
		bench_add_grant(bench, g);
	}
	assert_int_equal(nested_first(bench, bench_grant(bench, 1))->number, 2);
	assert_int_equal(nested_first(bench, bench_grant(bench, 3))->number, 2);
	bench_remove_grant(bench, bench_grant(bench, 2));
	assert_int_equal(nested_first(bench, bench_grant(bench, 1))->number, 3);
	assert_int_equal(nested_first(bench, bench_grant(bench, 4))->number, 4);
	assert_int_equal(nested_first(bench, bench_grant(bench, 5))->number, 5);
	model_remove(&model, bench);
}

/* By the kernel's word on where the pins lie, not by any path that was typed. */
static void inside_by_pins(void **state)
{
	char *text = strdup("1 1 8:1 / / rw - ext4 /dev/a rw\n"
			    "2 1 8:1 /home/p /10 ro - ext4 /dev/a rw\n"
			    "3 1 8:1 /home/p/docs /11 ro - ext4 /dev/a rw\n"
			    "4 1 8:1 /home/pp /12 ro - ext4 /dev/a rw\n"
			    "5 1 8:2 /home/p/docs /13 ro - ext4 /dev/b rw\n"
			    "6 1 8:2 / /14 ro - ext4 /dev/b rw\n"
			    "7 1 8:1 /home/p/a\\040b /15 ro - ext4 /dev/a rw\n");
	automounts pins = {};

	(void)state;
	assert_non_null(text);
	assert_int_equal(bm_mounts_parse(text, &pins), 0);
	assert_true(bm_pins_inside(&pins, 11, 10));
	assert_true(bm_pins_inside(&pins, 15, 10));
	assert_true(bm_pins_inside(&pins, 13, 14));
	assert_false(bm_pins_inside(&pins, 10, 11));
	assert_false(bm_pins_inside(&pins, 10, 10));
	assert_false(bm_pins_inside(&pins, 12, 10));
	assert_false(bm_pins_inside(&pins, 13, 10));
	assert_false(bm_pins_inside(&pins, 11, 14));
	/* Nobody knows. */
	assert_true(bm_pins_inside(&pins, 99, 10));
	assert_true(bm_pins_inside(&pins, 10, 99));
	assert_true(bm_pinned(&pins, 15));
	assert_false(bm_pinned(&pins, 1));
}

/* The same as each compared with each, of every set of them. */
static void any_inside(void **state)
{
	char *text = strdup("1 1 8:1 / / rw - ext4 /dev/a rw\n"
			    "2 1 8:1 /p /10 ro - ext4 /dev/a rw\n"
			    "3 1 8:1 /p-q /11 ro - ext4 /dev/a rw\n"
			    "4 1 8:1 /p/q/r /12 ro - ext4 /dev/a rw\n"
			    "5 1 8:2 /p/q /13 ro - ext4 /dev/b rw\n"
			    "6 1 8:1 /p/q /14 ro - ext4 /dev/a rw\n"
			    "7 1 8:2 / /15 ro - ext4 /dev/b rw\n"
			    "8 1 8:1 /p/qq /16 ro - ext4 /dev/a rw\n"
			    "9 1 8:1 /P /17 ro - ext4 /dev/a rw\n");
	automounts pins = {};

	(void)state;
	assert_non_null(text);
	assert_int_equal(bm_mounts_parse(text, &pins), 0);
	/* 18 has no pin. */
	for (unsigned set = 0; set < 1u << 9; set++) {
		uint64_t objects[9];
		bool inside = false;
		size_t count = 0;

		for (unsigned i = 0; i < 9; i++)
			if (set & 1u << i)
				objects[count++] = 10 + i;
		for (size_t i = 0; i < count; i++)
			for (size_t k = 0; k < count; k++)
				inside |= i != k && bm_pins_inside(&pins, objects[i], objects[k]);
		if (bm_pins_any_inside(&pins, objects, count) != inside)
			fail_msg("of the set %x", set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inner_ones_go_first),
		cmocka_unit_test(inside_by_pins),
		cmocka_unit_test(any_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
