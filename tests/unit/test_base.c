// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/helper.h"
#include "base/io.h"
#include "base/json.h"
#include "base/names.h"

/* --- JSON ------------------------------------------------------------------------------------ */

#define TEXT(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

struct text {
	const char *text;
	size_t len;
};

static int parse(const char *text, size_t len)
{
	/* A block of exactly that size: a sanitizer sees each byte read behind it. */
	autofree char *copy = malloc(len ?: 1);
	struct bm_error err = {};
	autojson *json = NULL;
	int r;

	memcpy(copy, text, len);
	r = bm_json_parse(copy, len, "input", &json, &err);
	assert_int_equal(r, -err.code);
	assert_true(r == 0 ? json != NULL : json == NULL);
	if (r < 0)
		assert_int_equal(strncmp(err.message, "input: ", 7), 0);
	return r;
}

static void json_taken(void **state)
{
	static const struct text texts[] = {
		TEXT("{}"),
		TEXT(" {\"a\" : 1 } \r\n\t"),
		TEXT("{\"a\":[1,-2,0.5,1e5,true,false,null,\"\",{}]}"),
		TEXT("{\"a\":{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]}}}"),
		TEXT("{\"a\":\"b\\\":\\\\\",\"c\":\"::\"}"),
		TEXT("{\"\":1,\"\\u00e9\":\"\\u20ac \xe2\x82\xac \xf0\x9f\x98\x80\"}"),
		TEXT("{\"a\":\"'NaN' \\\\u0000\"}"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(parse(texts[i].text, texts[i].len), 0);
}

static void json_refused(void **state)
{
	static const struct text texts[] = {
		TEXT(""),
		TEXT(" "),
		TEXT("null"),
		TEXT("[]"),
		TEXT("12"),
		TEXT("\"x\""),
		TEXT("{"),
		TEXT("{\"a\":1"),
		TEXT("{,}"),
		TEXT("{\"a\":1,}"),
		TEXT("{\"a\"::1}"),
		TEXT("{a:1}"),
		TEXT("{\"a\":[1,]}"),
		/* trailing garbage */
		TEXT("{} {}"),
		TEXT("{}x"),
		TEXT("{}\v"),
		TEXT("{}//"),
		TEXT("{}\0"),
		/* NUL, as itself and escaped: a C string would end there */
		TEXT("{\"a\0b\":1}"),
		TEXT("{\"a\":\"\0\"}"),
		TEXT("{\"a\\u0000b\":1}"),
		TEXT("{\"a\":\"\\u0000\"}"),
		/* what json-c would take */
		TEXT("{'a':1}"),
		TEXT("{\"a\":'b'}"),
		TEXT("{\"a\":NaN}"),
		TEXT("{\"a\":-Infinity}"),
		TEXT("{\"a\":1.}"),
		TEXT("{\"a\":01}"),
		TEXT("{\"a\":TRUE}"),
		TEXT("{/**/\"a\":1}"),
		TEXT("{\"a\":\"\n\"}"),
		TEXT("{\"a\":\"\x1f\"}"),
		/* not UTF-8 */
		TEXT("{\"a\":\"\xff\"}"),
		TEXT("{\"a\":\"\xe2\x82\"}"),
		TEXT("{\"a\":\"\xc0\x80\"}"),
		TEXT("{\"a\":\"\xe0\x80\xaf\"}"),
		TEXT("{\"a\":\"\xed\xa0\x80\"}"),
		TEXT("{\"a\":\"\xf4\x90\x80\x80\"}"),
		TEXT("\xef\xbb\xbf{}"),
		/* the same key twice */
		TEXT("{\"a\":1,\"a\":1}"),
		TEXT("{\"a\":1,\"\\u0061\":2}"),
		TEXT("{\"x\":[0,{\"a\":1,\"b\":2,\"a\":3}]}"),
		TEXT("{\"a\":{\"b\":1},\"a\":{\"b\":1}}"),
		TEXT("{\"a\":\":\",\"a\":1}"),
		TEXT("{\"a\":1,'b:\"c':1,\"a\":2,'d:\"':1}"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(parse(texts[i].text, texts[i].len), -EBADMSG);
}

static size_t nest(char *buf, const char *open, const char *close, int depth)
{
	char *p = stpcpy(buf, "{\"a\":");

	for (int i = 1; i < depth; i++)
		p = stpcpy(p, open);
	p = stpcpy(p, "1");
	for (int i = 1; i < depth; i++)
		p = stpcpy(p, close);
	return (size_t)(stpcpy(p, "}") - buf);
}

/* The innermost value counts, so that at most 15 objects or arrays stand around it. */
static void json_depth(void **state)
{
	autofree char *buf = malloc(1 << 20);

	(void)state;
	assert_int_equal(parse(buf, nest(buf, "{\"a\":", "}", 15)), 0);
	assert_int_equal(parse(buf, nest(buf, "[", "]", 15)), 0);
	assert_int_equal(parse(buf, nest(buf, "{\"a\":", "}", 16)), -EBADMSG);
	assert_int_equal(parse(buf, nest(buf, "[", "]", 16)), -EBADMSG);
	assert_int_equal(parse(buf, nest(buf, "[", "]", 100000)), -EBADMSG);
}

static void json_huge(void **state)
{
	const size_t size = 4 << 20;
	autofree char *buf = malloc(size);
	autojson *json = NULL;
	int64_t number = 0;

	(void)state;
	memset(buf, 'x', size);
	memcpy(buf, "{\"a\":\"", 6);
	memcpy(buf + size - 2, "\"}", 2);
	assert_int_equal(parse(buf, size), 0);
	assert_int_equal(parse(buf, size - 1), -EBADMSG);
	/* Refused before a byte of it is read. */
	assert_int_equal(bm_json_parse(buf, (size_t)INT32_MAX + 1, "", &json, NULL), -EMSGSIZE);
	assert_int_equal(bm_json_parse("{\"a\":99999999999999999999}", 26, "", &json, NULL), 0);
	assert_int_equal(bm_json_int(json, "a", &number), 0);
	assert_true(number == INT64_MAX);
}

static void json_members(void **state)
{
	static const char text[] =
		"{\"s\":\"x\",\"n\":-7,\"b\":true,\"f\":0.5,\"o\":{},\"z\":null}";
	autojson *json = NULL;
	struct bm_error err = {};
	int64_t n = 77;

	(void)state;
	assert_int_equal(bm_json_parse(text, sizeof(text) - 1, "", &json, NULL), 0);
	assert_string_equal(bm_json_string(json, "s"), "x");
	assert_null(bm_json_string(json, "n"));
	assert_null(bm_json_string(json, "z"));
	assert_null(bm_json_string(json, "absent"));
	assert_int_equal(bm_json_int(json, "s", &n), -ENOENT);
	assert_int_equal(bm_json_int(json, "f", &n), -ENOENT);
	assert_int_equal(n, 77);
	assert_int_equal(bm_json_int(json, "n", &n), 0);
	assert_int_equal(n, -7);
	assert_true(bm_json_bool(json, "b"));
	assert_false(bm_json_bool(json, "n"));
	assert_false(bm_json_bool(json, "absent"));
	assert_non_null(bm_json_get(json, "o", json_type_object));
	assert_null(bm_json_get(json, "o", json_type_array));

	const char *all[] = { "s", "n", "b", "f", "o", "z", "more", NULL };
	const char *few[] = { "s", "n", "b", "f", "z", NULL };

	assert_int_equal(bm_json_only(json, all, "request", &err), 0);
	assert_int_equal(bm_json_only(json, few, "request", &err), -EINVAL);
	assert_non_null(strstr(err.message, "\"o\""));
}

/* --- text ------------------------------------------------------------------------------------ */

static void escapes(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{ "", "" },
		{ "plain \"text\" 'x'", "plain \"text\" 'x'" },
		{ "\x1b[31m\r\n\t\x7f", "\\x1b[31m\\x0d\\x0a\\x09\\x7f" },
		{ "back\\slash", "back\\x5cslash" },
		{ "\xc2\x9b", "\\x9b" },
		{ "\xc2\xad", "\\xad" },
		{ "\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b", "\\u202e\\u2066\\u200b" },
		{ "\xe2\x80\xa8\xef\xbb\xbf", "\\u2028\\ufeff" },
		{ "\xf3\xa0\x81\x81", "\\U000e0041" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\xff\xc3(\xe2\x82", "\\xff\\xc3(\\xe2\\x82" },
		{ "\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80" },
	};
	char buf[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(bm_escape(cases[i].text, buf, sizeof(buf)), cases[i].shown);
}

static void escapes_into_any_size(void **state)
{
	static const char text[] = "ab\x1b\xe2\x80\xae\xf0\x9f\x98\x80"
				   "cdefgh";

	(void)state;
	for (size_t size = 0; size < 64; size++) {
		autofree char *buf = malloc(size ?: 1);
		size_t len;

		bm_escape(text, buf, size);
		if (!size)
			continue;
		len = strnlen(buf, size);
		assert_true(len < size);
		if (size >= 4 && size < 25)
			assert_string_equal(buf + len - 3, "...");
	}
}

static void names(void **state)
{
	char rights[BM_RIGHTS_LEN];

	(void)state;
	for (uint32_t i = 0; i < BM_HOOK_MAX; i++)
		assert_true(strlen(bm_hook_name(i)) > 1);
	for (uint32_t i = 0; i < BM_RULE_MAX; i++)
		assert_true(strlen(bm_rule_name(i)) > 1);
	assert_string_equal(bm_hook_name(BM_HOOK_MAX), "?");
	assert_string_equal(bm_rule_name(UINT32_MAX), "?");
	assert_string_equal(bm_verdict_name(BM_VERDICT_MAX), "?");
	assert_string_equal(bm_verdict_name(BM_DENY), "deny");
	assert_string_equal(bm_rights_name(0, rights), "");
	assert_string_equal(bm_rights_name(BM_R | BM_X, rights), "rx");
	assert_string_equal(bm_rights_name(UINT32_MAX, rights), "rwx");
}

static void bench_names(void **state)
{
	static const char *const good[] = { "b", "b1", "a-b-", "abcdefghijklmnopqrstuvwxyz012345" };
	static const char *const bad[] = { "",
					   "1b",
					   "-b",
					   "B",
					   "b_",
					   "b/1",
					   "b ",
					   "b.",
					   "b\n",
					   "\xc3\xa9",
					   "abcdefghijklmnopqrstuvwxyz0123456" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(bm_bench_name_valid(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(bm_bench_name_valid(bad[i]));
}

static void grant_ids(void **state)
{
	static const char *const bad[] = { "",
					   "b1",
					   "b1/",
					   "b1/0",
					   "b1/01",
					   "/1",
					   "b1//1",
					   "b1/1 ",
					   "b1/ 1",
					   "b1/-1",
					   "b1/+1",
					   "b1/1x",
					   "b1/1/2",
					   "B1/1",
					   "b1/4294967296",
					   "b1/18446744073709551617",
					   "abcdefghijklmnopqrstuvwxyz0123456/1" };
	char bench[BM_BENCH_NAME_LEN] = "kept";
	uint32_t number = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(bm_grant_id_parse(bad[i], bench, &number), -EINVAL);
	assert_string_equal(bench, "kept");
	assert_int_equal(number, 77);
	assert_int_equal(bm_grant_id_parse("b1/3", bench, &number), 0);
	assert_string_equal(bench, "b1");
	assert_int_equal(number, 3);
	assert_int_equal(
		bm_grant_id_parse("abcdefghijklmnopqrstuvwxyz012345/4294967295", bench, &number),
		0);
	assert_string_equal(bench, "abcdefghijklmnopqrstuvwxyz012345");
	assert_true(number == UINT32_MAX);
}

static void errors(void **state)
{
	struct bm_error err = {}, back = {}, kept = { .code = 5, .message = "kept" };
	autojson *json = NULL, *empty = json_object_new_object();
	char line[1024], small[8];

	(void)state;
	assert_int_equal(bm_fail(NULL, EPERM, "rule", NULL, "no one listens"), -EPERM);
	assert_int_equal(bm_fail(&err, EEXIST, "dest-exists", "choose another", "%s exists", "/in"),
			 -EEXIST);
	assert_int_equal(bm_fail(&err, EIO, NULL, NULL, "while cleaning up"), -EIO);
	assert_int_equal(bm_fail_errno(&err, EIO, "while cleaning up"), -EIO);
	assert_string_equal(bm_error_line(&err, line, sizeof(line)),
			    "/in exists (rule: dest-exists); choose another");
	assert_string_equal(bm_error_line(&err, small, sizeof(small)), "/in exi");
	json = bm_error_to_json(&err);
	assert_int_equal(bm_error_from_json(json, &back), 0);
	assert_memory_equal(&back, &err, sizeof(err));

	assert_int_equal(bm_error_from_json(empty, &kept), -EBADMSG);
	for (int i = 0; i < 3; i++) {
		bm_json_add_int(json, "errno", (const int[]){ 0, -1, 4096 }[i]);
		assert_int_equal(bm_error_from_json(json, &kept), -EBADMSG);
	}
	assert_string_equal(kept.message, "kept");

	err = (struct bm_error){};
	assert_int_equal(bm_fail_errno(&err, ENOENT, "open"), -ENOENT);
	assert_string_equal(bm_error_line(&err, line, sizeof(line)),
			    "open: No such file or directory");
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	err = (struct bm_error){};
	bm_fail(&err, EIO, line, line, "%s", line);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	assert_int_equal(strlen(err.rule), sizeof(err.rule) - 1);
	err = (struct bm_error){};
	bm_fail_errno(&err, EIO, "%s", line);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

/* --- files and processes --------------------------------------------------------------------- */

static int count_fds(void)
{
	autoclosedir DIR *fds = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(fds))
		count++;
	return count;
}

static void files_and_time(void **state)
{
	char path[] = "/tmp/benchmon-base-XXXXXX", buf[BM_TIME_LEN];
	autoclose fd = mkstemp(path);
	autofree char *text = NULL, *none = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(bm_write_file(AT_FDCWD, path, O_TRUNC, 0, "12345"), 0);
	assert_int_equal(bm_read_file(AT_FDCWD, path, 5, &text, &len), 0);
	assert_int_equal(len, 5);
	assert_string_equal(text, "12345");
	assert_int_equal(bm_read_file(AT_FDCWD, path, 4, &none, NULL), -EFBIG);
	unlink(path);
	assert_int_equal(bm_read_file(AT_FDCWD, path, 4, &none, NULL), -ENOENT);
	assert_int_equal(bm_write_file(AT_FDCWD, path, 0, 0, ""), -ENOENT);
	assert_null(none);
	assert_string_equal(bm_time_format(1709210096000000009, buf),
			    "2024-02-29T12:34:56.000000009Z");
	assert_string_equal(bm_time_format(UINT64_MAX, buf), "2554-07-21T23:34:33.709551615Z");
}

#define SHELL(script) ((const char *const[]){ "sh", "-c", script, NULL })

static void run_collects(void **state)
{
	autofree char *out = NULL, *err = NULL;
	int status = 0, fds = count_fds();

	(void)state;
	assert_int_equal(
		bm_run(SHELL("cat; echo out; echo err >&2; exit 7"), 10000, &status, &out, &err),
		0);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_string_equal(out, "out\n");
	assert_string_equal(err, "err\n");
	assert_int_equal(bm_run(SHELL("kill -9 $$"), 10000, &status, NULL, NULL), 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	free(TAKE_PTR(err));
	assert_int_equal(
		bm_run((const char *const[]){ "/no/such", NULL }, 10000, &status, NULL, &err), 0);
	assert_int_equal(WEXITSTATUS(status), 127);
	assert_non_null(strstr(err, "/no/such: No such file"));
	free(TAKE_PTR(out));
	/* Nothing of the caller's is open in it: 0 to 2, and the directory that ls reads. */
	assert_int_equal(bm_run((const char *const[]){ "ls", "/proc/self/fd", NULL }, 10000,
				&status, &out, NULL),
			 0);
	assert_string_equal(out, "0\n1\n2\n3\n");
	assert_int_equal(count_fds(), fds);
}

static void run_ends(void **state)
{
	autofree char *out = NULL, *kept = NULL;
	uint64_t begun = bm_now_ns(CLOCK_MONOTONIC);
	int status = 0, fds = count_fds();

	(void)state;
	assert_int_equal(bm_run(SHELL("exec tail -f /dev/null"), 200, &status, &kept, NULL),
			 -ETIMEDOUT);
	assert_null(kept);
	assert_true(WIFSIGNALED(status));
	/* The pipes stay open in a child of the child, silent or not; both end with this test. */
	assert_int_equal(bm_run(SHELL("echo ready; tail --pid=$PPID -f /dev/null & exit 3"), 60000,
				&status, &out, NULL),
			 0);
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_string_equal(out, "ready\n");
	free(TAKE_PTR(out));
	assert_int_equal(bm_run(SHELL("for i in 1 2 3 4; do yes & yes >&2 & done; exit 4"), 60000,
				&status, &out, NULL),
			 0);
	assert_int_equal(WEXITSTATUS(status), 4);
	assert_true(bm_now_ns(CLOCK_MONOTONIC) - begun < 30000000000);
	assert_int_equal(count_fds(), fds);
}

static void run_limits_output(void **state)
{
	autofree char *out = NULL, *err = NULL;
	int status = -1;

	(void)state;
	assert_int_equal(bm_run(SHELL("head -c 300000 /dev/zero | tr '\\0' x; echo end >&2"), 10000,
				&status, &out, &err),
			 0);
	assert_int_equal(status, 0);
	assert_int_equal(strlen(out), 65536);
	assert_string_equal(err, "end\n");
}

/* --- helper ---------------------------------------------------------------------------------- */

static int helper_fn(void *arg, int *ret_fd, struct bm_error *err)
{
	int pipe[2];

	switch (*(int *)arg) {
	case 0:
		return 5;
	case 1:
		return bm_fail(err, EXDEV, "rule", "remedy", "pid %d", getpid());
	case 2:
		return -ENOTTY;
	case 3:
		if (pipe2(pipe, 0) < 0 || write(pipe[1], "fd", 2) != 2)
			return -errno;
		*ret_fd = pipe[0];
		return 0;
	case 4:
		/* Set, and then failed. */
		*ret_fd = 1;
		return -EIO;
	case 5:
		_exit(0);
	default:
		raise(SIGKILL);
		return 0;
	}
}

static void helper_answers(void **state)
{
	int what = 0, got = -1, fds = count_fds();
	struct bm_error err = {};
	char text[3] = "";

	(void)state;
	assert_int_equal(bm_helper(helper_fn, &what, &got, &err), 5);
	assert_int_equal(got, -1);
	assert_int_equal(err.code, 0);
	what = 3;
	assert_int_equal(bm_helper(helper_fn, &what, &got, &err), 0);
	assert_int_equal(read(got, text, 2), 2);
	assert_string_equal(text, "fd");
	assert_int_equal(fcntl(got, F_GETFD), FD_CLOEXEC);
	bm_close(TAKE_FD(got));
	/* An fd that nobody awaits is not left behind. */
	assert_int_equal(bm_helper(helper_fn, &what, NULL, &err), 0);
	assert_int_equal(count_fds(), fds);
}

static void helper_fails(void **state)
{
	int what = 1, got = -1, fds = count_fds();
	struct bm_error err = {};
	char mine[32];

	(void)state;
	assert_int_equal(bm_helper(helper_fn, &what, &got, &err), -EXDEV);
	assert_int_equal(err.code, EXDEV);
	assert_string_equal(err.rule, "rule");
	assert_string_equal(err.remedy, "remedy");
	snprintf(mine, sizeof(mine), "pid %d", getpid());
	assert_string_not_equal(err.message, mine);
	for (what = 2; what <= 6; what++) {
		static const int codes[] = { [2] = ENOTTY, [4] = EIO, [5] = ECHILD, [6] = ECHILD };

		if (what == 3)
			continue;
		err = (struct bm_error){};
		assert_int_equal(bm_helper(helper_fn, &what, &got, &err), -codes[what]);
		assert_int_equal(err.code, codes[what]);
		assert_true(err.message[0]);
	}
	assert_int_equal(got, -1);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_taken),
		cmocka_unit_test(json_refused),
		cmocka_unit_test(json_depth),
		cmocka_unit_test(json_huge),
		cmocka_unit_test(json_members),
		cmocka_unit_test(escapes),
		cmocka_unit_test(escapes_into_any_size),
		cmocka_unit_test(names),
		cmocka_unit_test(bench_names),
		cmocka_unit_test(grant_ids),
		cmocka_unit_test(errors),
		cmocka_unit_test(files_and_time),
		cmocka_unit_test(run_collects),
		cmocka_unit_test(run_ends),
		cmocka_unit_test(run_limits_output),
		cmocka_unit_test(helper_answers),
		cmocka_unit_test(helper_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
