// SPDX-License-Identifier: GPL-2.0-only
/* Words of who asks: quoted, escaped, and never so long that a terminal breaks the line for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/ask.h"

static char *words(const char *before, const char *text)
{
	char *printed = NULL;
	size_t len;
	FILE *out = open_memstream(&printed, &len);

	assert_non_null(out);
	cli_ask_words(out, before, text);
	fclose(out);
	return printed;
}

static void expect(const char *text, const char *wanted)
{
	autofree char *printed = words("  they say", text);

	assert_string_equal(printed, wanted);
}

static void quoted(void **state)
{
	(void)state;
	expect("to build it", "  they say  \"to build it\"\n");
	expect("", "  they say  \"\"\n");
	expect("a\nb\x1b[2J", "  they say  \"a\\x0ab\\x1b[2J\"\n");
	expect("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c",
	       "  they say  \"\\u202e\\u2066\\u200f\\u061c\"\n");
	/* What was escaped before stays as it is. */
	expect("\\u202e", "  they say  \"\\u202e\"\n");
}

/* With blanks up to the end of a line one could write a row that looks like ours. */
static void in_pieces(void **state)
{
	autofree char *printed = NULL;
	char text[200];

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text + 120, "path      /safe", 16);
	printed = words("  they say", text);
	for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n")) {
		assert_true(strlen(line) <= 80);
		assert_true(line[12] == '"' && line[strlen(line) - 1] == '"');
	}
	/* Never within a character. */
	for (size_t i = 0; i < 186; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 4);
	free(printed);
	printed = words("", text + 1);
	assert_null(strstr(printed, "\xe2\"") ?: strstr(printed, "\x82\""));
	free(printed);
	printed = words("", text);
	for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n"))
		assert_int_equal((unsigned char)line[13], 0xe2);
}

static void by(void **state)
{
	autojson *inside = json_tokener_parse("{\"inside\":true,\"bench\":\"b1\",\"uid\":0}");
	autojson *outside = json_tokener_parse("{\"inside\":false,\"bench\":\"b1\",\"uid\":1001}");
	char text[128];

	(void)state;
	assert_string_equal(cli_ask_by(inside, text, sizeof(text)), "Bench b1 itself");
	assert_string_equal(cli_ask_by(outside, text, sizeof(text)), "uid 1001");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quoted),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
