// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "bench/relocate.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The reason, "" when it is taken. */
static const char *reason(const char *dest, int *ret_code)
{
	static struct bm_error err;
	autofree char *copy = strdup(dest);

	err = (struct bm_error){};
	*ret_code = bm_dest_check(copy, &err);
	assert_int_equal(*ret_code, -err.code);
	assert_int_equal(!*ret_code, !err.message[0]);
	if (*ret_code) {
		assert_string_equal(err.rule, "destination");
		assert_true(err.remedy[0]);
	}
	assert_int_equal(bm_dest_check(copy, NULL), *ret_code);
	return err.message;
}

static void taken(void **state)
{
	static const char *const dests[] = {
		"/a",   "/in/src", "/in/a b", "/...",           "/.x",
		"/..x", "/x..",    "/x.",     "/.x./..y../...", "/in/\303\244\303\266",
		"/-rf", "/~",      "/a\\b",   "/a:b",           "/\"",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(dests); i++) {
		int r;

		reason(dests[i], &r);
		if (r)
			fail_msg("refused: %s", dests[i]);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *dest, *because;
	} cases[] = {
		{ "", "not below /" },
		{ "/", "not below /" },
		{ "a", "not below /" },
		{ "in/src", "not below /" },
		{ "./a", "not below /" },
		{ "../a", "not below /" },
		{ " /a", "not below /" },
		{ "//", "component" },
		{ "//a", "component" },
		{ "/a/", "component" },
		{ "/a//b", "component" },
		{ "/a//", "component" },
		{ "/.", "component" },
		{ "/..", "component" },
		{ "/./a", "component" },
		{ "/../a", "component" },
		{ "/a/.", "component" },
		{ "/a/..", "component" },
		{ "/a/./b", "component" },
		{ "/a/../b", "component" },
		{ "/a/b/../../..", "component" },
		{ "/a\n", "control byte 0x0a" },
		{ "/a\x1b[2J", "control byte 0x1b" },
		{ "/\x7f", "control byte 0x7f" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int r;
		const char *why = reason(cases[i].dest, &r);

		if (r != -EINVAL || !strstr(why, cases[i].because))
			fail_msg("\"%s\": %d, \"%s\"", cases[i].dest, r, why);
	}
}

static void bytes(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		char dest[] = { '/', 'a', (char)c, 'b', '\0' };
		int r;

		reason(dest, &r);
		if (r != (c < 0x20 || c == 0x7f ? -EINVAL : 0))
			fail_msg("byte 0x%02x: %d", (unsigned)c, r);
	}
}

static void length(void **state)
{
	char dest[4097];
	int r;

	(void)state;
	memset(dest, 'a', sizeof(dest));
	dest[0] = '/';
	dest[4096] = '\0';
	assert_non_null(strstr(reason(dest, &r), "longer than 255"));
	assert_int_equal(r, -ENAMETOOLONG);
	dest[256] = '\0';
	assert_non_null(strstr(reason(dest, &r), "longer than 255"));
	assert_int_equal(r, -ENAMETOOLONG);
	dest[255] = '\0';
	assert_string_equal(reason(dest, &r), "");
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taken),
		cmocka_unit_test(refused),
		cmocka_unit_test(bytes),
		cmocka_unit_test(length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
