// SPDX-License-Identifier: GPL-2.0-only
/* No credential comes through, in whatever form and however the stream is cut. */
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
#include "broker/echo.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define SECRET "s%/\"\\-secret-~"

/* Through it in pieces of that size; the caller's. */
static char *through(const struct echo *echo, const char *text, size_t piece, uint64_t *ret_found)
{
	struct echo_stream *stream = NULL;
	struct buffer out = {};
	size_t len = strlen(text);
	char *got;

	assert_int_equal(echo_stream_new(echo, &stream), 0);
	for (size_t i = 0; i < len; i += piece)
		assert_int_equal(
			echo_feed(stream, text + i, len - i < piece ? len - i : piece, &out), 0);
	assert_int_equal(echo_finish(stream, &out), 0);
	*ret_found = echo_found(stream);
	assert_int_equal(buffer_has(&out), len);
	got = calloc(1, len + 1);
	assert_non_null(got);
	buffer_take(&out, got, len);
	buffer_done(&out);
	echo_stream_free(stream);
	return got;
}

/* Made apart from the code: a text, and what may be left of it. */
static const struct {
	const char *text, *left;
} cases[] = {
	{ "s%/\"\\-secret-~", "**************" },
	{ "as%/\"\\-secret-~bs%/\"\\-secret-~", "a**************b**************" },
	{ "s%/s%/\"\\-secret-~", "s%/**************" },
	{ "s%25%2f%22%5C-secret-~", "**********************" },
	{ "%73%25%2F%22%5C%2D%73%65%63%72%65%74%2D%7E",
	  "******************************************" },
	{ "s%\\/\\\"\\\\-secret-~", "*****************" },
	{ "\\u0073\\u0025\\u002f\\u0022\\u005c\\u002d\\u0073\\u0065\\u0063\\u0072\\u0065\\u0074\\u0"
	  "02d\\u007e",
	  "************************************************************************************" },
	{ "73252f225c2d7365637265742d7e", "****************************" },
	{ "73252F225C2D7365637265742D7E", "****************************" },
	{ "<73252f225c2d7365637265742d7e>", "<****************************>" },
	{ "cyUvIlwtc2VjcmV0LX4h", "******************4h" },
	{ "cyUvIlwtc2VjcmV0LX4h", "******************4h" },
	{ "eHMlLyJcLXNlY3JldC1+IQ==", "eH******************IQ==" },
	{ "eHMlLyJcLXNlY3JldC1-IQ==", "eH******************IQ==" },
	{ "eHlzJS8iXC1zZWNyZXQtfiE=", "eHl******************iE=" },
	{ "eHlzJS8iXC1zZWNyZXQtfiE=", "eHl******************iE=" },
	{ "s%/\"\\-secret", "s%/\"\\-secret" },
	{ "S%/\"\\-SECRET-~", "S%/\"\\-SECRET-~" },
	{ "s%2", "s%2" },
	{ "s%/\"\\", "s%/\"\\" },
	{ "nothing: %73\\u0073", "nothing: %73\\u0073" },
	{ "\\u0173%/\"\\-secret-~", "\\u0173%/\"\\-secret-~" },
	{ "%s%%/", "%s%%/" },
};

static void forms(void **state)
{
	struct echo *echo = NULL;

	(void)state;
	assert_int_equal(echo_new(SECRET, strlen(SECRET), &echo), 0);
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
			uint64_t found;
			autofree char *got = through(echo, cases[i].text, piece, &found);

			if (strcmp(got, cases[i].left))
				fail_msg("%s by %zu: %s", cases[i].text, piece, got);
			assert_int_equal(!found, !strcmp(cases[i].text, cases[i].left));
		}
	echo_free(echo);
}

/* What no credential begins is given at once: an event does not wait for the next one. */
static void at_once(void **state)
{
	static const struct {
		const char *text;
		size_t given;
	} parts[] = { { "data: {}\n\n", 10 }, { "as", 1 }, { "s%", 0 }, { "x", 3 } };
	struct echo_stream *stream = NULL;
	struct echo *echo = NULL;
	struct buffer out = {};
	size_t before = 0;

	(void)state;
	assert_int_equal(echo_new(SECRET, strlen(SECRET), &echo), 0);
	assert_int_equal(echo_stream_new(echo, &stream), 0);
	for (size_t i = 0; i < COUNT(parts); i++) {
		assert_int_equal(echo_feed(stream, parts[i].text, strlen(parts[i].text), &out), 0);
		/* Of "as" and "s%" an 's' waits, then "s%" does, in place of "ss%". */
		assert_int_equal(buffer_has(&out) - before, parts[i].given + (i == 2));
		before = buffer_has(&out);
	}
	buffer_done(&out);
	echo_stream_free(stream);
	echo_free(echo);
}

/* One letter over and over keeps as many ways alive as it is long. */
static void repeated(void **state)
{
	char secret[64], text[512];
	struct echo *echo = NULL;

	(void)state;
	memset(secret, 'a', sizeof(secret));
	memset(text, 'a', sizeof(text));
	assert_int_equal(echo_new(secret, sizeof(secret), &echo), 0);
	assert_true(echo_text(echo, text, sizeof(text)) > 0);
	assert_null(memchr(text, 'a', sizeof(text)));
	echo_free(echo);
	assert_int_equal(echo_new(secret, ECHO_SECRET_MIN - 1, &echo), -EINVAL);
	assert_int_equal(echo_new(secret, ECHO_SECRET_MAX + 1, &echo), -EINVAL);
}

static void buffers(void **state)
{
	static char block[50000];
	struct buffer b = {};
	char got[100000];
	uint64_t in = 0, out = 0;

	(void)state;
	assert_int_equal(buffer_add(&b, "abc", 3), 0);
	assert_int_equal(buffer_take(&b, got, 2), 2);
	assert_true(buffer_rewind(&b));
	assert_int_equal(buffer_take(&b, got, 9), 3);
	assert_memory_equal(got, "abc", 3);
	/* It does not grow with what goes through. */
	for (int i = 0; i < 1000; i++) {
		memset(block, i, sizeof(block));
		assert_int_equal(buffer_add(&b, block, sizeof(block)), 0);
		in += sizeof(block);
		out += buffer_take(&b, got, 40000 + (size_t)(i % 3) * 10000);
	}
	assert_int_equal(buffer_has(&b) + out, in);
	assert_true(b.size <= 1 << 20);
	assert_false(buffer_rewind(&b));
	buffer_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(forms), cmocka_unit_test(at_once),
					    cmocka_unit_test(repeated), cmocka_unit_test(buffers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
