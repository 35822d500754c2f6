// SPDX-License-Identifier: GPL-2.0-only
/* What is taken for a secret; the schema and the parser say the same of each document. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "policy/secrets.h"
#define SCHEMA_PATH "profiles/secrets.schema.json"
#include "tests/unit/schema.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define WITH(pattern, marks)                                                                       \
	"{\"name\":\"secrets\",\"patterns\":[" pattern "],\"marks\":[" marks "]}"
#define PATTERN(path) "{\"path\":\"" path "\",\"why\":\"w\"}"
#define MARK(line) "{\"line\":\"" line "\",\"why\":\"w\"}"
#define ONE PATTERN(".env")
#define G32 "gggggggggggggggggggggggggggggggg"

static const char none[] = "/nonexistent.test/secrets.json";

static void good(void **state)
{
	static const char *const documents[] = {
		WITH(ONE, ""),
		WITH(ONE "," PATTERN("a/b/c/d/e/f/g/h"), MARK("12345678*")),
		WITH(PATTERN("*.key") "," PATTERN(".ssh/"), ""),
		WITH("{\"path\":\"id_*\",\"not\":[\"*.pub\"],\"why\":\"w\"}", ""),
		"{\"name\":\"secrets\",\"description\":\"d\",\"patterns\":[" ONE "],\"marks\":[]}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(documents); i++) {
		autosecrets secrets = {};
		struct bm_error err = {};

		if (bm_secrets_parse(documents[i], strlen(documents[i]), "f", &secrets, &err) < 0)
			fail_msg("%s: %s", documents[i], err.message);
		if (!schema_takes(documents[i]))
			fail_msg("not by the schema: %s", documents[i]);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *text, *says;
		bool schema_can_not_say;
	} cases[] = {
		{ "{}", "f: name: missing", false },
		{ "{\"name\":\"s\",\"patterns\":[" ONE "],\"marks\":[]}",
		  "f: name: not \"secrets\"", false },
		{ "{\"name\":\"secrets\",\"marks\":[]}", "f: patterns: missing", false },
		{ "{\"name\":\"secrets\",\"patterns\":[" ONE "]}", "f: marks: missing", false },
		{ "{\"name\":\"secrets\",\"patterns\":{},\"marks\":[]}",
		  "f: patterns: not an array", false },
		{ "{\"name\":\"secrets\",\"more\":1,\"patterns\":[" ONE "],\"marks\":[]}", "more",
		  false },
		{ WITH("", ""), "f: patterns: there are none", false },
		{ WITH(ONE ",1", ""), "f: pattern 2: path: the pattern is not an object", false },
		{ WITH(ONE ",{\"path\":\"a\"}", ""), "f: pattern 2: why: missing", false },
		{ WITH("{\"path\":\"a\",\"why\":\"\"}", ""),
		  "f: pattern 1: why: 0 characters, not 1 to 200", false },
		{ WITH("{\"path\":1,\"why\":\"w\"}", ""), "f: pattern 1: path: not a string",
		  false },
		{ WITH("{\"path\":\"a\",\"why\":\"w\",\"x\":1}", ""), "x", false },
		{ WITH(PATTERN("/a"), ""), "f: pattern 1: path: an empty component", false },
		{ WITH(PATTERN("a//b"), ""), "f: pattern 1: path: an empty component", false },
		{ WITH(PATTERN("/"), ""), "f: pattern 1: path: an empty component", false },
		{ WITH(PATTERN("../b"), ""), "f: pattern 1: path: a component \".\" or \"..\"",
		  true },
		{ WITH(PATTERN("a/b/c/d/e/f/g/h/i"), ""),
		  "f: pattern 1: path: more than 8 components", false },
		{ WITH(PATTERN("*"), ""), "f: pattern 1: path: everything would be one", true },
		{ WITH(PATTERN("**?/"), ""), "f: pattern 1: path: everything would be one", true },
		{ WITH(PATTERN("a\\u0007"), ""), "f: pattern 1: path: control byte 0x07 at 2",
		  true },
		{ WITH(PATTERN(G32 G32 G32 G32), ""),
		  "f: pattern 1: path: 128 characters, not 1 to 127", false },
		{ WITH("{\"path\":\"a\",\"not\":[],\"why\":\"w\"}", ""),
		  "f: pattern 1: not: 0 globs, not 1 to 8", false },
		{ WITH("{\"path\":\"a\",\"not\":\"b\",\"why\":\"w\"}", ""),
		  "f: pattern 1: not: not an array", false },
		{ WITH("{\"path\":\"a\",\"not\":[\"b/\"],\"why\":\"w\"}", ""),
		  "f: pattern 1: not: an empty component", false },
		{ WITH("{\"path\":\"a\",\"not\":[1],\"why\":\"w\"}", ""),
		  "f: pattern 1: not: not a string", false },
		{ WITH(ONE, MARK("1234567*")),
		  "f: mark 1: line: fewer than 8 characters before its first *, ? or [", false },
		{ WITH(ONE, "{\"line\":\"12345678\"}"), "f: mark 1: why: missing", false },
		{ WITH(ONE, "1"), "f: mark 1: line: the mark is not an object", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bm_secrets secrets = { .mark_count = 7 };
		struct bm_error err = {};

		assert_int_equal(
			bm_secrets_parse(cases[i].text, strlen(cases[i].text), "f", &secrets, &err),
			-EINVAL);
		if (!strstr(err.message, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.message);
		assert_int_equal(secrets.mark_count, 7);
		if (schema_takes(cases[i].text) != cases[i].schema_can_not_say)
			fail_msg("the schema is of another mind: %s", cases[i].text);
	}
}

/* What is installed: whom it takes for a secret, and whom not. */
static void built_in(void **state)
{
	static const struct {
		const char *path;
		bool directory, secret;
	} cases[] = {
		{ "/home/a/.ssh", true, true },
		{ "/home/a/.ssh/known_hosts", false, true },
		{ "/home/a/.ssh/deep/er", true, true },
		{ "/home/a/.ssh", false, false },
		{ "/home/a/ssh", true, false },
		{ "/srv/id_ed25519", false, true },
		{ "/srv/id_rsa.old", false, true },
		{ "/srv/id_rsa.pub", false, false },
		{ "/srv/p/.env", false, true },
		{ "/srv/p/.env.production", false, true },
		{ "/srv/p/.env.example", false, false },
		{ "/srv/p/env", false, false },
		{ "/home/a/.aws/credentials", false, true },
		{ "/home/a/.aws/config", false, false },
		{ "/home/a/aws/credentials", false, false },
		{ "/home/a/.netrc", false, true },
		{ "/home/a/.docker/config.json", false, true },
		{ "/srv/p/config.json", false, false },
		{ "/home/a/.config/gcloud/x/y", false, true },
		{ "/home/a/.kube/config", false, true },
		{ "/home/a/.mozilla/firefox/x.default/key4.db", false, true },
		{ "/home/a/.local/share/keyrings/login.keyring", false, true },
		{ "/home/a/.npmrc", false, true },
		{ "/home/a/.cargo/credentials.toml", false, true },
		{ "/srv/p/src/main.c", false, false },
		{ "/srv/p/README.md", false, false },
		{ "/srv/p", true, false },
	};
	static const char key[] = "# of the server\n  -----BEGIN RSA PRIVATE KEY-----\r\nMIIE";
	static const char cert[] = "-----BEGIN CERTIFICATE-----\nMIIE";
	static const char talk[] = "grep -----BEGIN RSA PRIVATE KEY-----\n";
	autosecrets secrets = {};
	struct bm_error err = {};
	char late[BM_SECRET_HEAD + sizeof(key)];

	(void)state;
	if (bm_secrets_load(none, 0, &secrets, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < COUNT(cases); i++)
		if (!bm_secret_by_path(&secrets, cases[i].path, cases[i].directory) ==
		    cases[i].secret)
			fail_msg("%s", cases[i].path);
	assert_non_null(bm_secret_by_head(&secrets, key, strlen(key)));
	assert_null(bm_secret_by_head(&secrets, cert, strlen(cert)));
	assert_null(bm_secret_by_head(&secrets, talk, strlen(talk)));
	memset(late, '\n', sizeof(late));
	memcpy(late + BM_SECRET_HEAD, key, sizeof(key));
	assert_null(bm_secret_by_head(&secrets, late, sizeof(late)));
	assert_null(bm_secret_by_head(&secrets, "", 0));
}

static void schema_of_built_in(void **state)
{
	autofree char *text = NULL;
	size_t len;

	(void)state;
	assert_int_equal(
		bm_read_file(AT_FDCWD, "profiles/secrets.json", BM_SECRETS_MAX, &text, &len), 0);
	assert_true(schema_takes(text));
}

static void from_a_file(void **state)
{
	char path[] = "/tmp/test_secrets.XXXXXX";
	autoclose fd = mkstemp(path);
	autosecrets secrets = {};
	struct bm_error err = {};
	const char *text = WITH(PATTERN("mine"), "");

	(void)state;
	assert_int_equal(bm_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(bm_secrets_load(path, geteuid(), &secrets, NULL), 0);
	assert_non_null(bm_secret_by_path(&secrets, "/a/mine", false));
	assert_null(bm_secret_by_path(&secrets, "/a/.env", false));
	assert_int_equal(fchmod(fd, 0622), 0);
	assert_int_equal(bm_secrets_load(path, geteuid(), &secrets, &err), -EPERM);
	assert_non_null(strstr(err.message, "can be written by others"));
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(bm_secrets_load(path, geteuid(), &secrets, NULL), -ELOOP);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(bm_secrets_load(path, geteuid(), &secrets, NULL), -EPERM);
	rmdir(path);
}

/* --- what is in a directory --------------------------------------------------------------------
 */

struct tree {
	char path[64];
	int fd;
	struct bm_secrets secrets;
	struct bm_secrets_scan *found;
};

static void put(const struct tree *t, const char *name, const char *text)
{
	autoclose fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(bm_write_all(fd, text, strlen(text)), 0);
}

static int plant(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	snprintf(t->path, sizeof(t->path), "/tmp/test_secrets.XXXXXX");
	assert_non_null(mkdtemp(t->path));
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY);
	t->found = calloc(1, sizeof(*t->found));
	assert_int_equal(bm_secrets_load(none, 0, &t->secrets, NULL), 0);
	assert_int_equal(mkdirat(t->fd, "sub", 0700), 0);
	assert_int_equal(mkdirat(t->fd, "sub/.ssh", 0700), 0);
	put(t, "main.c", "int main;\n");
	put(t, ".env", "A=1\n");
	put(t, "sub/plain", "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n");
	put(t, "sub/.ssh/id_rsa", "x\n");
	assert_int_equal(symlinkat("/etc/shadow", t->fd, "sub/shadow"), 0);
	*state = t;
	return 0;
}

static int fell(void **state)
{
	static const char *const files[] = { "main.c", ".env", "sub/plain", "sub/.ssh/id_rsa",
					     "sub/shadow" };
	struct tree *t = *state;

	for (size_t i = 0; i < COUNT(files); i++)
		unlinkat(t->fd, files[i], 0);
	unlinkat(t->fd, "sub/.ssh", AT_REMOVEDIR);
	unlinkat(t->fd, "sub", AT_REMOVEDIR);
	close(t->fd);
	rmdir(t->path);
	bm_secrets_done(&t->secrets);
	free(t->found);
	free(t);
	return 0;
}

static struct bm_secrets_look look_of(const struct tree *t)
{
	return (struct bm_secrets_look){ .secrets = &t->secrets,
					 .fd = t->fd,
					 .path = t->path,
					 .uid = geteuid(),
					 .gid = getegid(),
					 .entries = 1000,
					 .depth = 8,
					 .ms = 20000 };
}

static const struct bm_secret_found *found(const struct tree *t, const char *path)
{
	for (uint32_t i = 0; i < t->found->count; i++)
		if (!strcmp(t->found->list[i].path, path))
			return &t->found->list[i];
	return NULL;
}

static void searched(void **state)
{
	static const char *const leave[] = { ".env", "sub/.ssh", NULL };
	struct tree *t = *state;
	struct bm_secrets_look look = look_of(t);
	struct bm_error err = {};

	if (bm_secrets_scan(&look, t->found, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(t->found->count, 3);
	assert_int_equal(t->found->bounds, 0);
	assert_non_null(found(t, ".env"));
	assert_string_equal(found(t, "sub/plain")->why, "a private key");
	assert_true(found(t, "sub/.ssh")->directory);
	assert_int_equal(t->found->entries, 6);
	look.leave = leave;
	assert_int_equal(bm_secrets_scan(&look, t->found, NULL), 0);
	assert_int_equal(t->found->count, 1);
	assert_non_null(found(t, "sub/plain"));
}

/* Known by what it is, under whatever name; another one of its number is not. */
static void known(void **state)
{
	struct bm_secret_known list[2] = {};
	struct tree *t = *state;
	struct bm_secrets_look look = look_of(t);
	struct statx born;
	struct stat st;

	assert_int_equal(linkat(t->fd, "main.c", t->fd, "other", 0), 0);
	assert_int_equal(fstatat(t->fd, "main.c", &st, 0), 0);
	assert_int_equal(statx(t->fd, "main.c", 0, STATX_BTIME, &born), 0);
	list[0] = (struct bm_secret_known){ st.st_dev, st.st_ino, 0 };
	if (born.stx_mask & STATX_BTIME)
		list[0].born_ns = born.stx_btime.tv_sec * 1000000000ll + born.stx_btime.tv_nsec;
	look.known = list;
	look.known_count = 1;
	look.known_why = "it is known";
	assert_int_equal(bm_secrets_scan(&look, t->found, NULL), 0);
	assert_non_null(found(t, "main.c"));
	assert_string_equal(found(t, "other")->why, "it is known");
	if (list[0].born_ns) {
		list[0].born_ns++;
		assert_int_equal(bm_secrets_scan(&look, t->found, NULL), 0);
		assert_null(found(t, "main.c"));
	}
	unlinkat(t->fd, "other", 0);
}

static void bounded(void **state)
{
	struct tree *t = *state;
	struct bm_secrets_look look = look_of(t);

	look.depth = 0;
	assert_int_equal(bm_secrets_scan(&look, t->found, NULL), 0);
	assert_int_equal(t->found->bounds, BM_SECRETS_DEPTH);
	assert_int_equal(t->found->count, 1);
	look = look_of(t);
	look.entries = 2;
	assert_int_equal(bm_secrets_scan(&look, t->found, NULL), 0);
	assert_int_equal(t->found->bounds, BM_SECRETS_ENTRIES);
	look = look_of(t);
	look.ms = 0;
	assert_int_equal(bm_secrets_scan(&look, t->found, NULL), 0);
	assert_int_equal(t->found->bounds, BM_SECRETS_TIME);
}

static void of_a_file(void **state)
{
	struct tree *t = *state;
	struct bm_secrets_look look = look_of(t);
	autoclose fd = openat(t->fd, "sub/plain", O_RDONLY);

	look.fd = fd;
	look.path = "/somewhere/plain";
	assert_int_equal(bm_secrets_scan(&look, t->found, NULL), 0);
	assert_int_equal(t->found->count, 1);
	assert_string_equal(t->found->list[0].path, "");
	assert_string_equal(t->found->list[0].why, "a private key");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(refused),
		cmocka_unit_test(built_in),
		cmocka_unit_test(schema_of_built_in),
		cmocka_unit_test(from_a_file),
		cmocka_unit_test_setup_teardown(searched, plant, fell),
		cmocka_unit_test_setup_teardown(known, plant, fell),
		cmocka_unit_test_setup_teardown(bounded, plant, fell),
		cmocka_unit_test_setup_teardown(of_a_file, plant, fell),
	};

	return cmocka_run_group_tests(tests, load_schema, drop_schema);
}
