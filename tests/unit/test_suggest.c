// SPDX-License-Identifier: GPL-2.0-only
/* What was used, as the shortest list of grants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/suggest.h"

static bool is_home(void *ctx, const char *source)
{
	(void)ctx;
	return !strcmp(source, "/home/me");
}

static size_t names_in(void *ctx, const char *source)
{
	(void)source;
	return *(size_t *)ctx;
}

static size_t names;
static const struct suggest_rules rules = { is_home, names_in, &names };

static struct suggest_list uses;

static void used(const char *path, const char *how)
{
	char source[256], dest[256];
	struct suggest_use use = { .source = source,
				   .dest = dest,
				   .volume = "b1/1",
				   .writes = strchr(how, 'w'),
				   .whole = strchr(how, 'd'),
				   .looked = strchr(how, '?'),
				   .count = 1 };

	snprintf(source, sizeof(source), "/disk%s", path);
	snprintf(dest, sizeof(dest), "/in%s", path);
	assert_int_equal(suggest_add(&uses, &use), 0);
}

/* "/disk/a:/in/a:ro 3" and so on, a line each. */
static void expect(const char *wanted)
{
	struct suggest_list grants = {};
	char text[4096] = "";
	size_t len = 0;

	assert_int_equal(suggest_merge(&uses, &rules, &grants), 0);
	for (size_t i = 0; i < grants.count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s:%s:%s %d\n",
					grants.list[i].source, grants.list[i].dest,
					grants.list[i].writes ? "rw" : "ro",
					(int)grants.list[i].count);
	assert_string_equal(text, wanted);
	assert_int_equal(uses.count, 0);
	suggest_done(&grants);
}

static void test_files(void **state)
{
	(void)state;
	names = 0;
	expect("");
	used("/src/a", "r");
	used("/src/a", "r");
	used("/src/b", "w");
	used("/src/b", "r");
	expect("/disk/src/a:/in/src/a:ro 2\n/disk/src/b:/in/src/b:rw 1\n");
}

static void test_directory(void **state)
{
	(void)state;
	names = 8;
	for (char name[] = "/src/a"; name[5] < 'e'; name[5]++)
		used(name, "r");
	expect("/disk/src:/in/src:ro 4\n");
	/* Of nine, four are not most. */
	names = 9;
	for (char name[] = "/src/a"; name[5] < 'e'; name[5]++)
		used(name, "r");
	expect("/disk/src/a:/in/src/a:ro 1\n/disk/src/b:/in/src/b:ro 1\n"
	       "/disk/src/c:/in/src/c:ro 1\n/disk/src/d:/in/src/d:ro 1\n");
	names = 0;
}

/* Directories that were merged count as names of the one above. */
static void test_upwards(void **state)
{
	char name[] = "/src/a/a";

	(void)state;
	for (name[5] = 'a'; name[5] < 'e'; name[5]++)
		for (name[7] = 'a'; name[7] < 'e'; name[7]++)
			used(name, "r");
	expect("/disk/src:/in/src:ro 16\n");
	/* But never above all that was used. */
	for (name[5] = 'a', name[7] = 'a'; name[7] < 'e'; name[7]++)
		used(name, "r");
	expect("/disk/src/a:/in/src/a:ro 4\n");
}

/* One file that is written does not make the rest writable. */
static void test_rights(void **state)
{
	(void)state;
	for (char name[] = "/src/a"; name[5] < 'e'; name[5]++)
		used(name, "r");
	used("/src/log", "w");
	expect("/disk/src:/in/src:ro 4\n/disk/src/log:/in/src/log:rw 1\n");
	/* A name that is made does: w on the directory. */
	used("/src/a", "r");
	used("/src", "wd");
	used("/src/new", "w");
	expect("/disk/src:/in/src:rw 2\n");
}

static void test_looked(void **state)
{
	(void)state;
	used("/src", "d?");
	used("/src/a", "r");
	expect("/disk/src/a:/in/src/a:ro 1\n");
	used("/src", "d?");
	expect("/disk/src:/in/src:ro 1\n");
	/* Listed is more than asked about. */
	used("/src", "d?");
	used("/src", "d");
	used("/src/a", "r");
	expect("/disk/src:/in/src:ro 3\n");
}

static void test_home(void **state)
{
	struct suggest_use use = { .volume = "", .count = 1 };
	char path[] = "/home/me/a";

	(void)state;
	use.source = use.dest = path;
	for (; path[9] < 'f'; path[9]++)
		assert_int_equal(suggest_add(&uses, &use), 0);
	expect("/home/me/a:/home/me/a:ro 1\n/home/me/b:/home/me/b:ro 1\n"
	       "/home/me/c:/home/me/c:ro 1\n/home/me/d:/home/me/d:ro 1\n"
	       "/home/me/e:/home/me/e:ro 1\n");
}

/* The same name is no place below it. */
static void test_names(void **state)
{
	(void)state;
	used("/src", "wd");
	used("/src2", "r");
	expect("/disk/src:/in/src:rw 1\n/disk/src2:/in/src2:ro 1\n");
}

static enum suggest_there there(const char *path)
{
	return !strncmp(path, "/disk/dir", 9) ? SUGGEST_DIRECTORY
	       : !strncmp(path, "/disk/", 6)  ? SUGGEST_FILE
					      : SUGGEST_NOTHING;
}

static void told(struct suggest *s, const char *text)
{
	struct json_object *event = NULL;

	assert_int_equal(bm_json_parse(text, strlen(text), "event", &event, NULL), 0);
	assert_int_equal(suggest_event(s, event, there), 0);
	json_object_put(event);
}

#define FILE_EVENT(verdict, hook, rule, name, wanted)                                              \
	"{\"verdict\":\"" verdict "\",\"hook\":\"" hook "\",\"rule\":\"" rule                      \
	"\",\"object\":{\"path\":\"" name "\",\"inside\":\"/in" name "\",\"host\":\"/disk" name    \
	"\",\"wanted\":\"" wanted "\",\"grant\":\"b1/1\"}}"

static void test_events(void **state)
{
	struct suggest s;

	(void)state;
	suggest_begin(&s);
	told(&s, FILE_EVENT("would-deny", "file_open", "no-grant", "/a", "r"));
	told(&s, FILE_EVENT("allow", "file_open", "none", "/no", "r"));
	told(&s, FILE_EVENT("deny", "file_open", "excepted", "/no", "r"));
	told(&s, FILE_EVENT("would-deny", "ioctl", "no-grant", "/a", "rw"));
	told(&s, FILE_EVENT("deny", "exec", "exec-refused", "/x", "x"));
	told(&s, FILE_EVENT("would-deny", "mknod", "no-grant", "/out/new", "w"));
	told(&s, "{\"type\":\"suppressed\",\"count\":7}");
	assert_int_equal(s.events, 5);
	assert_int_equal(s.suppressed, 7);
	assert_int_equal(json_object_array_length(s.apart), 1);
	uses = s.files;
	s.files = (struct suggest_list){};
	expect("/disk/a:/in/a:ro 2\n/disk/out:/in/out:rw 1\n");
	suggest_end(&s);
}

#define NOT_FOUND(path)                                                                            \
	"{\"verdict\":\"none\",\"hook\":\"not_found\",\"rule\":\"none\",\"object\":{\"path\":"     \
	"\"" path "\",\"wanted\":\"r\"}}"

static void test_not_found(void **state)
{
	struct suggest s;

	(void)state;
	suggest_begin(&s);
	told(&s, NOT_FOUND("/disk/data"));
	told(&s, NOT_FOUND("/disk/dir"));
	told(&s, NOT_FOUND("/elsewhere/data"));
	told(&s, NOT_FOUND("/usr/lib/libc.so"));
	told(&s, NOT_FOUND("/disk/x/../data2"));
	told(&s, NOT_FOUND("/disk//data3"));
	told(&s, NOT_FOUND("disk"));
	uses = s.files;
	s.files = (struct suggest_list){};
	expect("/disk/data:/disk/data:ro 1\n/disk/dir:/disk/dir:ro 1\n");
	suggest_end(&s);
}

static void test_net(void **state)
{
	struct json_object *net;
	struct suggest s;

	(void)state;
	suggest_begin(&s);
	for (int i = 0; i < 2; i++)
		told(&s,
		     "{\"verdict\":\"would-deny\",\"hook\":\"connect4\",\"rule\":\"not-sealed\","
		     "\"destination\":\"10.0.0.1:443/tcp\",\"hint\":\"benchmon grant b1 net "
		     "10.0.0.1:443 --private\"}");
	told(&s, "{\"verdict\":\"would-deny\",\"hook\":\"sendmsg4\",\"rule\":\"not-sealed\","
		 "\"destination\":\"10.0.0.2:53/udp\",\"hint\":\"x\"}");
	told(&s, "{\"verdict\":\"deny\",\"hook\":\"ingress\",\"rule\":\"not-sealed\","
		 "\"destination\":\"10.0.0.3:443/tcp\"}");
	assert_int_equal(json_object_array_length(s.nets), 1);
	net = json_object_array_get_idx(s.nets, 0);
	assert_true(bm_json_bool(net, "private"));
	assert_string_equal(bm_json_string(net, "destination"), "10.0.0.1:443/tcp");
	assert_int_equal(json_object_array_length(s.apart), 1);
	suggest_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),     cmocka_unit_test(test_directory),
		cmocka_unit_test(test_upwards),   cmocka_unit_test(test_rights),
		cmocka_unit_test(test_looked),    cmocka_unit_test(test_home),
		cmocka_unit_test(test_names),     cmocka_unit_test(test_events),
		cmocka_unit_test(test_not_found), cmocka_unit_test(test_net),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
