// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gatekeeperd/backoff.h"

static void backs_off(void **state)
{
	struct backoff b = {};

	(void)state;
	assert_true(backoff_due(&b, 0));
	backoff_failed(&b, 100, 5, 60);
	assert_false(backoff_due(&b, 104));
	assert_true(backoff_due(&b, 105));
	for (uint64_t wait = 10; wait <= 40; wait *= 2) {
		backoff_failed(&b, 1000, 5, 60);
		assert_int_equal(b.due_ns, 1000 + wait);
	}
	for (int i = 0; i < 100; i++)
		backoff_failed(&b, 1000, 5, 60);
	assert_int_equal(b.due_ns, 1060);
	backoff_reset(&b);
	assert_true(backoff_due(&b, 0));
	backoff_failed(&b, 0, 5, 60);
	assert_int_equal(b.due_ns, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backs_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
