// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "cli/denials.h"
#include "cli/hint.h"
#include "cli/parse.h"
#include "cli/text.h"

static void check_spec(const char *text, const char *source, const char *dest, const char *rights)
{
	struct cli_spec spec;

	assert_int_equal(cli_parse_spec(text, &spec, NULL), 0);
	assert_string_equal(spec.source, source);
	assert_string_equal(spec.dest, dest);
	assert_string_equal(spec.rights, rights);
}

static void test_spec(void **state)
{
	(void)state;
	check_spec("src", "src", "", "ro");
	check_spec("./src:/in", "./src", "/in", "ro");
	check_spec("src:rw", "src", "", "rw");
	check_spec("src:ro", "src", "", "ro");
	check_spec("/a b:/in/x y:rw", "/a b", "/in/x y", "rw");
	check_spec("ro", "ro", "", "ro");
	check_spec("rw:rw", "rw", "", "rw");
	check_spec("ro:/ro:ro", "ro", "/ro", "ro");
	check_spec("src:/", "src", "/", "ro");
}

static void test_spec_refused(void **state)
{
	static const char *const bad[] = {
		"",     ":",         ":/in",    ":ro",        "a:",       "a:b",
		"a:rx", "a:in:ro",   "a::ro",   "a:/in:",     "a:/in:wr", "a:ro:ro",
		"a:RO", "a:/in:ro:", "a:/b:/c", "a:/b:/c:ro", "a:rw:/in", "a: ro",
	};
	char longer[2 * PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cli_spec spec = { .source = "untouched" };
		struct bm_error err = {};

		assert_int_equal(cli_parse_spec(bad[i], &spec, &err), -EINVAL);
		assert_true(err.message[0]);
		assert_string_equal(spec.source, "untouched");
	}
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(cli_parse_spec(longer, &(struct cli_spec){}, NULL), -ENAMETOOLONG);
	memcpy(longer, "a:/", 3);
	assert_int_equal(cli_parse_spec(longer, &(struct cli_spec){}, NULL), -ENAMETOOLONG);
}

static void test_duration(void **state)
{
	static const char *const bad[] = { "",     "0s",   "-1s",       "1",
					   "s",    " 1s",  "1S",        "1ms",
					   "366d", "1.5h", "31536001s", "99999999999999999999d" };
	int64_t value = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cli_parse_duration(bad[i], &value, NULL), -EINVAL);
	assert_int_equal(value, 77);
	assert_int_equal(cli_parse_duration("90s", &value, NULL), 0);
	assert_int_equal(value, 90);
	assert_int_equal(cli_parse_duration("10m", &value, NULL), 0);
	assert_int_equal(value, 600);
	assert_int_equal(cli_parse_duration("365d", &value, NULL), 0);
	assert_int_equal(value, 31536000);
}

static void test_size(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} good[] = {
		{ "1", 1 },
		{ "4096", 4096 },
		{ "512K", 512 << 10 },
		{ "512m", 512 << 20 },
		{ "2G", 2ll << 30 },
		{ "1GiB", 1ll << 30 },
		{ "8388607T", 8388607ll << 40 },
		{ "9223372036854775807", INT64_MAX },
	};
	static const char *const bad[] = { "",
					   "0",
					   "-1",
					   "+1",
					   " 1",
					   "1 ",
					   "1Q",
					   "1KB",
					   "1Kib",
					   "G",
					   "1.5G",
					   "0x10",
					   "8388608T",
					   "1MM",
					   "9223372036854775808",
					   "99999999999999999999G" };
	int64_t value = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(cli_parse_size(good[i].text, &value, NULL), 0);
		assert_true(value == good[i].value);
	}
	value = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cli_parse_size(bad[i], &value, NULL), -EINVAL);
	assert_true(value == 77);
}

static void test_number(void **state)
{
	int64_t value = 77;

	(void)state;
	assert_int_equal(cli_parse_number("n", "1", 1, 10, &value, NULL), 0);
	assert_true(value == 1);
	assert_int_equal(cli_parse_number("n", "10", 1, 10, &value, NULL), 0);
	assert_int_equal(cli_parse_number("n", "0", 1, 10, &value, NULL), -EINVAL);
	assert_int_equal(cli_parse_number("n", "11", 1, 10, &value, NULL), -EINVAL);
	assert_int_equal(cli_parse_number("n", "1x", 1, 10, &value, NULL), -EINVAL);
	assert_int_equal(cli_parse_number("n", "", 0, 10, &value, NULL), -EINVAL);
	assert_int_equal(cli_parse_number("n", "-1", 0, 10, &value, NULL), -EINVAL);
	assert_true(value == 10);
}

static void test_env(void **state)
{
	const char *value;
	char key[8];

	(void)state;
	assert_int_equal(cli_parse_env("A=b=c", key, sizeof(key), &value, NULL), 0);
	assert_string_equal(key, "A");
	assert_string_equal(value, "b=c");
	assert_int_equal(cli_parse_env("A=", key, sizeof(key), &value, NULL), 0);
	assert_string_equal(value, "");
	setenv("BM_T", "mine", 1);
	assert_int_equal(cli_parse_env("BM_T", key, sizeof(key), &value, NULL), 0);
	assert_string_equal(value, "mine");
	unsetenv("BM_T");
	assert_int_equal(cli_parse_env("BM_T", key, sizeof(key), &value, NULL), 0);
	assert_null(value);
	assert_int_equal(cli_parse_env("=b", key, sizeof(key), &value, NULL), -EINVAL);
	assert_int_equal(cli_parse_env("", key, sizeof(key), &value, NULL), -EINVAL);
	assert_int_equal(cli_parse_env("TOOLONG1=b", key, sizeof(key), &value, NULL),
			 -ENAMETOOLONG);
}

static void test_except(void **state)
{
	static const char *const bad[] = {
		"",  ":ro", "/",    "/x",   "x/",    "a//b",
		".", "..",  "../x", "x/..", "a/./b", "a/b/c/d/e/f/g/h/i"
	};
	struct cli_except except = {};
	char longer[300];

	(void)state;
	assert_int_equal(cli_parse_except(".env", &except, NULL), 0);
	assert_string_equal(except.name, ".env");
	assert_false(except.readable);
	assert_int_equal(cli_parse_except("sub/.git:ro", &except, NULL), 0);
	assert_string_equal(except.name, "sub/.git");
	assert_true(except.readable);
	/* Only at the end, and only that. */
	assert_int_equal(cli_parse_except("a:ro:ro", &except, NULL), 0);
	assert_string_equal(except.name, "a:ro");
	assert_int_equal(cli_parse_except("a:rw", &except, NULL), 0);
	assert_string_equal(except.name, "a:rw");
	assert_false(except.readable);
	assert_int_equal(cli_parse_except("...", &except, NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (cli_parse_except(bad[i], &except, NULL) != -EINVAL)
			fail_msg("taken: \"%s\"", bad[i]);
	memset(longer, 'x', sizeof(longer));
	longer[63] = '\0';
	assert_int_equal(cli_parse_except(longer, &except, NULL), 0);
	longer[63] = 'x';
	longer[64] = '\0';
	assert_int_equal(cli_parse_except(longer, &except, NULL), -EINVAL);
	longer[64] = 'x';
	longer[256] = '\0';
	assert_int_equal(cli_parse_except(longer, &except, NULL), -ENAMETOOLONG);
}

static void check_base(const char *path, const char *want)
{
	char base[NAME_MAX + 1];

	assert_int_equal(cli_parse_base(path, base, NULL), 0);
	assert_string_equal(base, want);
}

static void test_base(void **state)
{
	char base[NAME_MAX + 1];

	(void)state;
	check_base("src", "src");
	check_base("../src/", "src");
	check_base("/a/b///", "b");
	check_base("..x", "..x");
	check_base("/usr/.", "usr");
	check_base("/usr/lib/..", "usr");
	assert_int_equal(cli_parse_base("/", base, NULL), -EINVAL);
	assert_int_equal(cli_parse_base("///", base, NULL), -EINVAL);
	assert_int_equal(cli_parse_base("/nonexistent/.", base, NULL), -ENOENT);
}

static void test_utf8(void **state)
{
	static const char *const bad[] = { "\x80",
					   "a\xff",
					   "\xc0\xaf",
					   "\xc3",
					   "\xe0\x80\x80",
					   "\xed\xa0\x80",
					   "\xe2\x82",
					   "\xf0\x80\x80\x80",
					   "\xf4\x90\x80\x80",
					   "\xf5" };

	(void)state;
	assert_true(cli_is_utf8(""));
	assert_true(cli_is_utf8("plain \x1b"));
	assert_true(cli_is_utf8("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(cli_is_utf8(bad[i]));
}

static void test_nearest(void **state)
{
	(void)state;
	assert_int_equal(cli_distance("", "abc"), 3);
	assert_int_equal(cli_distance("kitten", "sitting"), 3);
	assert_string_equal(cli_command_nearest("grnat"), "grant");
	assert_string_equal(cli_command_nearest("lst"), "ls");
	assert_string_equal(cli_command_nearest("dest"), "destroy");
	assert_null(cli_command_nearest("frobnicate"));
	assert_null(cli_command_nearest("synopsi"));
	assert_string_equal(cli_option_nearest("--rotfs", OPT(ROOTFS) | OPT(PID)), "rootfs");
	assert_null(cli_option_nearest("--rotfs", OPT(PID)));
}

/* Splits a line at blanks and parses it; the caller drops args. */
static int parse(char *line, struct cli_args *args)
{
	static char *argv[16];
	int argc = 0;

	for (char *word = strtok(line, " "); word && argc < 15; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return cli_args_parse(cli_command_find(argv[0]), argc, argv, args, NULL);
}

static void test_arguments(void **state)
{
	struct cli_args args;
	char exec[] = "exec --env A=1 b1 -e B=2 -- ls -l --tty";
	char bare[] = "exec b1 ls -t", run[] = "run --in a --out b --in c -- -- x";
	char grant[] = "grant b1 net 192.0.2.1:80/udp --private -y";
	char dashed[] = "grant -- b1 file -odd";

	(void)state;
	assert_int_equal(parse(exec, &args), 0);
	assert_string_equal(args.operands[0], "b1");
	assert_string_equal(args.payload[0], "ls");
	assert_string_equal(args.payload[2], "--tty");
	assert_int_equal(args.given_count, 2);
	assert_string_equal(args.value[OPT_ENV], "B=2");
	assert_false(cli_has(&args, OPT_TTY));
	cli_args_done(&args);
	assert_int_equal(parse(bare, &args), 0);
	assert_string_equal(args.payload[1], "-t");
	cli_args_done(&args);
	assert_int_equal(parse(run, &args), 0);
	assert_string_equal(args.payload[0], "--");
	assert_int_equal(args.given[1].opt, OPT_OUT);
	assert_string_equal(args.given[2].value, "c");
	cli_args_done(&args);
	assert_int_equal(parse(grant, &args), 0);
	assert_int_equal(args.operand_count, 3);
	assert_string_equal(args.operands[2], "192.0.2.1:80/udp");
	assert_true(cli_has(&args, OPT_PRIVATE) && cli_has(&args, OPT_YES));
	cli_args_done(&args);
	assert_int_equal(parse(dashed, &args), 0);
	assert_string_equal(args.operands[2], "-odd");
	cli_args_done(&args);
}

static void test_arguments_refused(void **state)
{
	static const char *const bad[] = { "exec",
					   "exec b1",
					   "exec b1 --",
					   "run",
					   "run --",
					   "ls b1",
					   "show",
					   "show b1 b2",
					   "show b1 --bogus",
					   "show b1 -q",
					   "create --rootfs",
					   "create --pid 1",
					   "ls --format",
					   "grant b1",
					   "grant b1 file a --yes=1",
					   "grant b1 net a b" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cli_args args;
		char line[64];

		snprintf(line, sizeof(line), "%s", bad[i]);
		assert_int_equal(parse(line, &args), -EINVAL);
		cli_args_done(&args);
	}
}

static void test_format(void **state)
{
	const struct cli_command *events = cli_command_find("events"), *ls = cli_command_find("ls");
	char *json[] = { (char *)"ls", (char *)"--format", (char *)"json", NULL };
	char *payload[] = { (char *)"run", (char *)"--", (char *)"--format=json", NULL };
	enum cli_format format;

	(void)state;
	assert_int_equal(cli_format_parse(events, "compact", &format, NULL), 0);
	assert_int_equal(format, FORMAT_COMPACT);
	assert_int_equal(cli_format_parse(ls, "compact", &format, NULL), -EINVAL);
	assert_int_equal(cli_format_parse(ls, "JSON", &format, NULL), -EINVAL);
	for (const struct cli_command *c = cli_commands; c->name; c++)
		assert_int_equal(cli_format_parse(c, "json", &format, NULL), 0);
	assert_true(cli_wants_json(3, json));
	assert_false(cli_wants_json(3, payload));
}

static void test_tables(void **state)
{
	(void)state;
	for (int opt = 0; opt < OPT_MAX; opt++) {
		assert_non_null(cli_options[opt].name);
		assert_non_null(cli_options[opt].doc);
		for (int other = 0; other < opt; other++) {
			assert_string_not_equal(cli_options[opt].name, cli_options[other].name);
			assert_true(!cli_options[opt].key ||
				    cli_options[opt].key != cli_options[other].key);
		}
	}
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		assert_non_null(c->fn);
		assert_true(c->doc && *c->doc && c->forms[0].args);
		assert_true(c->operands_min <= c->operands_max);
		assert_ptr_equal(cli_command_find(c->name), c);
		/* Each option that is taken is shown in some form, and none that is not. */
		for (int opt = 0; opt < OPT_MAX; opt++) {
			char typed[32];
			bool shown = false;

			snprintf(typed, sizeof(typed), "--%s", cli_options[opt].name);
			for (int i = 0; i < CLI_FORMS && c->forms[i].args; i++)
				shown |= c->forms[i].options & 1ull << opt ||
					 strstr(c->forms[i].args, typed);
			assert_int_equal(shown, !!(c->options & 1ull << opt));
		}
	}
}

/* What fn prints; the caller frees it. */
static char *printed(int (*fn)(struct cli *, struct bm_error *), const char *operand)
{
	struct bm_error err = {};
	struct cli cli = { .command = cli_command_find("help") };
	FILE *saved = stdout;
	char *text = NULL;
	size_t size;
	int r;

	cli.args.operands = &operand;
	cli.args.operand_count = operand ? 1 : 0;
	stdout = open_memstream(&text, &size);
	assert_non_null(stdout);
	r = fn(&cli, &err);
	fclose(stdout);
	stdout = saved;
	assert_int_equal(r, 0);
	return text;
}

static void check_width(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		assert_true(len <= CLI_WIDTH);
		text += len + (text[len] == '\n');
	}
}

static void test_help(void **state)
{
	autofree char *all = printed(cmd_help, NULL);

	(void)state;
	check_width(all);
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		autofree char *one = printed(cmd_help, c->name);
		char line[64];

		check_width(one);
		snprintf(line, sizeof(line), "\n  %s ", c->name);
		assert_int_equal(!!strstr(all, line), c->section != SECTION_HIDDEN);
	}
}

static void test_generated(void **state)
{
	autofree char *completion = printed(cmd_completion, "bash");
	autofree char *synopsis = printed(cmd_synopsis, NULL);
	autofree char *options = printed(cmd_synopsis, "options");

	(void)state;
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		char line[64];

		if (c->section == SECTION_HIDDEN)
			continue;
		snprintf(line, sizeof(line), "\n\t%s)\n", c->name);
		assert_non_null(strstr(completion, line));
		snprintf(line, sizeof(line), ".SY \"benchmon %s\"\n", c->name);
		assert_non_null(strstr(synopsis, line));
	}
	for (int opt = 0; opt < OPT_MAX; opt++) {
		char word[32];

		snprintf(word, sizeof(word), " --%s", cli_options[opt].name);
		assert_non_null(strstr(completion, word));
	}
	assert_non_null(strstr(options, "\\fB\\-\\-no\\-idmap\\fR"));
}

static void check_wrap(unsigned column, const char *text, const char *want)
{
	autofree char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	cli_wrap(out, column, text);
	fclose(out);
	assert_string_equal(got, want);
}

static void test_wrap(void **state)
{
	char longer[101];

	(void)state;
	check_wrap(0, "", "\n");
	check_wrap(4, "one  two ", "one two\n");
	check_wrap(70, "seventy columns",
		   "seventy\n                                           "
		   "                           columns\n");
	check_wrap(77, "abc d",
		   "abc\n                                                          "
		   "                   d\n");
	/* A word is never broken: it may be a path that is to be copied. */
	memset(longer, 'x', 100);
	memcpy(longer + 99, "\n", 2);
	{
		char word[100];

		memcpy(word, longer, 99);
		word[99] = '\0';
		check_wrap(0, word, longer);
	}
}

static void test_show(void **state)
{
	char buf[CLI_SHORT];

	(void)state;
	assert_string_equal(cli_show("plain", buf, sizeof(buf)), "plain");
	assert_string_equal(cli_show("a\x1b[31m\n", buf, sizeof(buf)), "a\\x1b[31m\\x0a");
	/* Escaped by the daemon: not a second time. */
	assert_string_equal(cli_show("a\\x1b\\u202e", buf, sizeof(buf)), "a\\x1b\\u202e");
	assert_string_equal(cli_show("a\\b\\xzz\\", buf, sizeof(buf)), "a\\x5cb\\x5cxzz\\x5c");
	cli_show("0123456789012345678901234567890123456789012345678901234567890123456789", buf,
		 sizeof(buf));
	assert_true(strlen(buf) < sizeof(buf));
	assert_non_null(strstr(buf, "..."));
}

static void test_sizes_and_ages(void **state)
{
	char size[CLI_SIZE_LEN], age[CLI_AGE_LEN];

	(void)state;
	assert_string_equal(cli_size(0, size), "0 bytes");
	assert_string_equal(cli_size(1536, size), "1.5 KiB");
	assert_string_equal(cli_size(3ll << 30, size), "3.0 GiB");
	assert_string_equal(cli_age("1970-01-01T00:01:40.5Z", 100, age), "0 s ago");
	assert_string_equal(cli_age("1970-01-01T00:01:40.5Z", 90, age), "0 s ago");
	assert_string_equal(cli_age("1970-01-01T00:00:00Z", 3599, age), "59 min ago");
	assert_string_equal(cli_age("1970-01-01T00:00:00Z", 90000, age), "25 h ago");
	assert_string_equal(cli_age("1970-01-01T00:00:00Z", 864000, age), "10 d ago");
	assert_string_equal(cli_age("yesterday", 0, age), "-");
	assert_string_equal(cli_age(NULL, 0, age), "-");
}

static void check_hint(const char *hint, const char *want)
{
	char buf[256];

	assert_string_equal(cli_hint_for_run(hint, "b2", buf, sizeof(buf)), want);
}

static void test_hint(void **state)
{
	(void)state;
	check_hint("benchmon grant b2 net 192.0.2.1:80", "benchmon run --net 192.0.2.1:80");
	check_hint("benchmon grant b2 file /etc/a:ro", "benchmon run --in /etc/a (then /in/a)");
	check_hint("benchmon grant b2 file /srv/x:rw", "benchmon run --out /srv/x (then /out/x)");
	check_hint("benchmon grant b2 file '/a b:ro'", "benchmon grant b2 file '/a b:ro'");
	check_hint("benchmon grant b3 net 192.0.2.1:80", "benchmon grant b3 net 192.0.2.1:80");
	check_hint("anything", "anything");
}

static void add(struct cli_denials *denials, const char *text)
{
	autojson *event = NULL;

	assert_int_equal(bm_json_parse(text, strlen(text), "event", &event, NULL), 0);
	cli_denials_add(denials, event);
}

static void test_denials(void **state)
{
	struct cli_denials denials = {};

	(void)state;
	for (int i = 0; i < 3; i++)
		add(&denials, "{\"verdict\":\"deny\",\"hook\":\"file_open\",\"rule\":\"no-grant\","
			      "\"object\":{\"path\":\"/a\",\"wanted\":\"r\"}}");
	add(&denials, "{\"verdict\":\"deny\",\"hook\":\"file_open\",\"rule\":\"no-grant\","
		      "\"object\":{\"path\":\"/a\",\"wanted\":\"w\"}}");
	add(&denials, "{\"verdict\":\"deny\",\"hook\":\"egress\",\"rule\":\"not-sealed\","
		      "\"destination\":\"192.0.2.1:80/tcp\"}");
	add(&denials, "{\"verdict\":\"allow\",\"hook\":\"arrival\"}");
	add(&denials, "{\"type\":\"lost\",\"count\":7}");
	assert_int_equal(denials.kinds, 3);
	assert_int_equal(denials.total, 5);
	assert_int_equal(denials.list[0].count, 3);
	assert_int_equal(denials.lost, 7);
	cli_denials_done(&denials);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spec),           cmocka_unit_test(test_spec_refused),
		cmocka_unit_test(test_duration),       cmocka_unit_test(test_size),
		cmocka_unit_test(test_number),         cmocka_unit_test(test_env),
		cmocka_unit_test(test_except),         cmocka_unit_test(test_base),
		cmocka_unit_test(test_utf8),           cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_arguments),      cmocka_unit_test(test_arguments_refused),
		cmocka_unit_test(test_format),         cmocka_unit_test(test_tables),
		cmocka_unit_test(test_help),           cmocka_unit_test(test_generated),
		cmocka_unit_test(test_wrap),           cmocka_unit_test(test_show),
		cmocka_unit_test(test_sizes_and_ages), cmocka_unit_test(test_hint),
		cmocka_unit_test(test_denials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
