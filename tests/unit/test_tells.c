// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kernel/tells.h"

#define MANUAL "userspace/cli/benchmon.1.in"

/* From the heading of the section to the next one. */
static char *section(void)
{
	static char text[65536];
	FILE *file = fopen(MANUAL, "re");
	char *begin, *end;

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	assert_true(feof(file));
	fclose(file);
	begin = strstr(text, ".SH WHAT A BENCH SEES OF");
	assert_non_null(begin);
	end = strstr(begin + 1, "\n.SH ");
	assert_non_null(end);
	*end = '\0';
	return begin;
}

static bool has_word(const char *text, const char *end, const char *word, size_t len)
{
	for (const char *p = text; p < end; p++)
		if (!strncmp(p, word, len) && (p[len] == ' ' || p[len] == '\n') &&
		    (p[-1] == ' ' || p[-1] == '\n'))
			return true;
	return false;
}

/* In the list of its directory. */
static bool manual_has(const char *manual, const char *path)
{
	const char *name = strrchr(path, '/') + 1, *list, *end;
	autofree char *heading = NULL;

	assert_true(asprintf(&heading, ".TP\n.I %.*s\n", (int)(name - 1 - path), path) > 0);
	list = strstr(manual, heading);
	if (!list)
		return false;
	list += strlen(heading);
	end = strstr(list, "\n.");
	return has_word(list, end ? end + 1 : list + strlen(list), name, strlen(name));
}

static size_t words_of_lists(const char *manual)
{
	static const char heading[] = ".TP\n.I /";
	size_t words = 0;

	for (const char *p = strstr(manual, heading); p; p = strstr(p, heading)) {
		p = strchr(p + strlen(heading), '\n') + 1;
		for (; *p && *p != '.'; p++)
			words += *p == ' ' || *p == '\n';
	}
	return words;
}

static void manual_says_so(void **state)
{
	const char *manual = section();
	size_t shown = 0;

	(void)state;
	assert_true(bm_tells_count > 50);
	for (size_t i = 0; i < bm_tells_count; i++) {
		const struct bm_tells_path *p = &bm_tells_paths[i];

		if (p->kind == BM_TELLS_NEVER)
			continue;
		if (!manual_has(manual, p->path))
			fail_msg("the manual does not list %s", p->path);
		shown++;
	}
	assert_int_equal(words_of_lists(manual), shown);
	assert_false(manual_has(manual, "/proc/kcore"));
	assert_false(manual_has(manual, "/proc/sys/kernel/self"));
}

static void fits(void **state)
{
	size_t components = 0;

	(void)state;
	for (size_t i = 0; i < bm_tells_count; i++) {
		const char *path = bm_tells_paths[i].path;

		assert_true(!strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5));
		for (const char *p = path; (p = strchr(p, '/')); components++) {
			size_t len = strcspn(++p, "/");

			assert_true(len > 0 && len < BM_TELLS_NAME - 1);
		}
	}
	assert_true(components <= BM_MAX_TELLS);
}

/* Nothing is listed below what stands for all below it but what is never there. */
static void no_shadow(void **state)
{
	(void)state;
	for (size_t i = 0; i < bm_tells_count; i++)
		for (size_t k = 0; k < bm_tells_count; k++) {
			size_t len = strlen(bm_tells_paths[i].path);

			if (bm_tells_paths[i].kind != BM_TELLS_BELOW || i == k ||
			    strncmp(bm_tells_paths[k].path, bm_tells_paths[i].path, len) ||
			    bm_tells_paths[k].path[len] != '/')
				continue;
			assert_int_equal(bm_tells_paths[k].kind, BM_TELLS_NEVER);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(manual_says_so),
		cmocka_unit_test(fits),
		cmocka_unit_test(no_shadow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
