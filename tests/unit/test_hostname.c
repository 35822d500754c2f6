// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/hostname.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define L63 "abcdefghijklmnopqrstuvwxyz0123456789-abcdefghijklmnopqrstuvwxyz"

static int parse(const char *text, char *ret, struct bm_error *err)
{
	return bm_hostname_parse(text, strlen(text), ret, err);
}

static void taken(void **state)
{
	static const char *const names[][2] = {
		{ "a.test", "a.test" },         { "A.TeSt", "a.test" },
		{ "1.test", "1.test" },         { "a-b.c-d.test", "a-b.c-d.test" },
		{ "3com.test", "3com.test" },   { "xn--bcher-kva.test", "xn--bcher-kva.test" },
		{ "a.xn--p1ai", "a.xn--p1ai" }, { "127.0.0.1.test", "127.0.0.1.test" },
		{ L63 ".test", L63 ".test" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		char host[BM_HOSTNAME_LEN];
		struct bm_error err = {};

		if (parse(names[i][0], host, &err) < 0)
			fail_msg("%s: %s", names[i][0], err.message);
		assert_string_equal(host, names[i][1]);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *text, *because;
	} cases[] = {
		{ "", "empty" },
		{ "localhost", "one label" },
		{ ".", "a dot at the end of the host name, byte 1" },
		{ "a.test.", "a dot at the end of the host name, byte 7" },
		{ ".test", "an empty label at byte 1" },
		{ "a..test", "an empty label at byte 3" },
		{ "-a.test", "begins with a hyphen, at byte 1" },
		{ "a-.test", "ends with a hyphen, at byte 2" },
		{ "b.-a.test", "begins with a hyphen, at byte 3" },
		{ "a.test-", "ends with a hyphen, at byte 7" },
		{ "a.xn--", "ends with a hyphen" },
		{ "a_b.test", "an underscore (byte 0x5f) at 2" },
		{ "b\303\274cher.test", "byte 0xc3 at 2 of the host name is not ASCII" },
		{ "a b.test", "white space (byte 0x20) at 2" },
		{ "a\tb.test", "white space (byte 0x09) at 2" },
		{ "a.test\n", "white space (byte 0x0a) at 7" },
		{ "a\x1b[2J.test", "byte 0x1b at 2 does not belong" },
		{ "a\x7f.test", "byte 0x7f at 2 does not belong" },
		{ "a.test:443", "a colon (byte 0x3a) at 7" },
		{ "https://a.test", "a colon (byte 0x3a) at 6" },
		{ "a.test/x", "a slash (byte 0x2f) at 7" },
		{ "u@a.test", "an at sign (byte 0x40) at 2" },
		{ "*.test", "an asterisk (byte 0x2a) at 1" },
		{ "fe80::1%eth0", "a colon (byte 0x3a) at 5" },
		{ "[2001:db8::1]", "a bracket (byte 0x5b) at 1" },
		{ "2001:db8::1", "a colon" },
		{ "a%eth0.test", "a percent sign (byte 0x25) at 2" },
		{ "192.0.2.1",
		  "the last label of the host name, at byte 9, begins with no letter" },
		{ "127.1", "begins with no letter" },
		{ "0x7f.0x1", "begins with no letter" },
		{ "a.1test", "begins with no letter" },
		{ "2130706433", "begins with no letter" },
		{ "a" L63 ".test", "has 64 bytes, more than 63" },
		{ L63 "." L63 "." L63 "." L63, "the host name has 255 bytes, more than 253" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char host[BM_HOSTNAME_LEN] = "untouched";
		struct bm_error err = {};

		if (parse(cases[i].text, host, &err) != -EINVAL ||
		    !strstr(err.message, cases[i].because))
			fail_msg("\"%s\": \"%s\"", cases[i].text, err.message);
		assert_true(err.remedy[0]);
		assert_string_equal(host, "untouched");
	}
}

static void bytes(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char text[] = { 'a', (char)c, 'b', '.', 't' }, host[BM_HOSTNAME_LEN];
		bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '.';
		struct bm_error err = {};
		int r = bm_hostname_parse(text, sizeof(text), host, &err);

		if (r != (good ? 0 : -EINVAL))
			fail_msg("byte 0x%02x: %d", (unsigned)c, r);
		if (!good)
			assert_non_null(strstr(err.message, " at 2"));
		for (const char *p = err.message; *p; p++)
			assert_true(*p >= 0x20 && *p < 0x7f);
	}
}

static void length(void **state)
{
	char text[400], host[BM_HOSTNAME_LEN];
	struct bm_error err = {};

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '.' : 'a';
	assert_int_equal(bm_hostname_parse(text, 253, host, NULL), 0);
	assert_int_equal(strlen(host), 253);
	assert_int_equal(bm_hostname_parse(text, 255, host, &err), -EINVAL);
	assert_non_null(strstr(err.message, "255 bytes, more than 253"));
	/* A byte that never ends up anywhere is not looked for without end. */
	text[399] = '\n';
	err = (struct bm_error){};
	assert_int_equal(bm_hostname_parse(text, 400, host, &err), -EINVAL);
	assert_non_null(strstr(err.message, "400 bytes"));
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
