// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "bench/mounts.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define LINE "36 35 98:7 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"

/* In a block of exactly that size: a sanitizer sees each byte read behind it. */
static int parse(const char *text, struct bm_mounts *ret)
{
	return bm_mounts_parse(strdup(text), ret);
}

static void one(const char *line, struct bm_mounts *ret)
{
	assert_int_equal(parse(line, ret), 0);
	assert_int_equal(ret->count, 1);
}

static void refused(const char *text)
{
	struct bm_mounts mounts = { .count = 77 };

	if (parse(text, &mounts) != -EBADMSG)
		fail_msg("taken: %s", text);
	assert_int_equal(mounts.count, 77);
	assert_null(mounts.list);
	assert_null(mounts.text);
}

static void fields(void **state)
{
	automounts mounts = {};
	const struct bm_mount *m;

	(void)state;
	one(LINE, &mounts);
	m = mounts.list;
	assert_int_equal(m->id, 36);
	assert_int_equal(m->parent, 35);
	assert_ptr_equal(bm_mount_find(&mounts, 36), m);
	assert_null(bm_mount_find(&mounts, 35));
	assert_int_equal(m->major, 98);
	assert_int_equal(m->minor, 7);
	assert_false(m->ro);
	assert_false(m->noexec);
	assert_string_equal(m->root, "/mnt1");
	assert_string_equal(m->target, "/mnt2");
	assert_string_equal(m->fstype, "ext3");
	assert_string_equal(m->options, "rw,errors=continue");
}

/* Between the flags and the "-" there may be any number of fields, also ones not known yet. */
static void optional_fields(void **state)
{
	static const char *const between[] = {
		"",
		"shared:1 ",
		"shared:1 master:2 propagate_from:3 unbindable ",
		"new:-1 -x ",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(between); i++) {
		automounts mounts = {};
		char line[256];

		snprintf(line, sizeof(line), "9 1 0:4 / /x ro %s- tmpfs none rw,size=4k",
			 between[i]);
		one(line, &mounts);
		assert_string_equal(mounts.list->target, "/x");
		assert_true(mounts.list->ro);
		assert_string_equal(mounts.list->fstype, "tmpfs");
		assert_string_equal(mounts.list->options, "rw,size=4k");
	}
}

/* What the mounter says of the source changes nothing, nor does its absence. */
static void sources(void **state)
{
	static const char *const names[] = { "", "-", "ro", "noexec", "a\\040-\\040b", "none" };

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		automounts mounts = {};
		char line[256];

		snprintf(line, sizeof(line), "9 1 0:4 / /x rw - fuse.x %s rw,user_id=0", names[i]);
		one(line, &mounts);
		assert_false(mounts.list->ro);
		assert_false(mounts.list->noexec);
		assert_string_equal(mounts.list->fstype, "fuse.x");
		assert_string_equal(mounts.list->options, "rw,user_id=0");
	}
}

static void flags(void **state)
{
	static const struct {
		const char *flags, *options;
		bool ro, noexec;
	} cases[] = {
		{ "rw,relatime", "rw", false, false },
		{ "ro,relatime", "rw", true, false },
		{ "nosuid,ro", "rw", true, false },
		{ "nosuid,ro,relatime", "rw", true, false },
		{ "rw", "ro", true, false },
		{ "rw", "seclabel,ro,size=4k", true, false },
		{ "rw", "seclabel,ro", true, false },
		{ "rw,noexec", "rw", false, true },
		{ "noexec,rw", "rw", false, true },
		{ "rw,nosuid,noexec,nodev", "rw", false, true },
		/* noexec is a flag of the mount alone. */
		{ "rw", "rw,noexec", false, false },
		/* Names that only begin or end alike. */
		{ "rw,rox", "rw,rootmode=40000", false, false },
		{ "rw,noexecx", "rw,ero", false, false },
		{ "rw,xnoexec", "rw,x=ro", false, false },
		{ ",", ",,", false, false },
		{ ",ro", "", true, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		automounts mounts = {};
		char line[256];

		snprintf(line, sizeof(line), "9 1 0:4 / /x %s - tmpfs none %s", cases[i].flags,
			 cases[i].options);
		one(line, &mounts);
		if (mounts.list->ro != cases[i].ro || mounts.list->noexec != cases[i].noexec)
			fail_msg("%s", line);
	}
}

static void escapes(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "/a\\040b", "/a b" },
		{ "/\\011\\012\\134\\043", "/\t\n\\#" },
		{ "/\\040", "/ " },
		{ "\\057", "/" },
		{ "/a\\377", "/a\377" },
		/* Once only: what comes out is no escape of its own. */
		{ "/\\134040", "/\\040" },
		{ "/\\134134040", "/\\134040" },
		/* Not escapes. */
		{ "/\\", "/\\" },
		{ "/\\0", "/\\0" },
		{ "/\\04", "/\\04" },
		{ "/\\048", "/\\048" },
		{ "/\\08x", "/\\08x" },
		{ "/\\940", "/\\940" },
		{ "/\\x20", "/\\x20" },
		{ "/\\\\040", "/\\ " },
		{ "/\303\244", "/\303\244" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		automounts mounts = {}, other = {};
		char line[256];

		snprintf(line, sizeof(line), "9 1 0:4 %s /t rw - tmpfs none rw", cases[i].text);
		one(line, &mounts);
		assert_string_equal(mounts.list->root, cases[i].expected);
		assert_string_equal(mounts.list->target, "/t");
		snprintf(line, sizeof(line), "9 1 0:4 /r %s rw - tmpfs none rw", cases[i].text);
		one(line, &other);
		assert_string_equal(other.list->target, cases[i].expected);
		assert_string_equal(other.list->root, "/r");
	}
}

/* A line cut anywhere before its last field is refused, never half understood. */
static void truncated(void **state)
{
	size_t end = (size_t)(strstr(LINE, "rw,errors") - LINE);

	(void)state;
	for (size_t len = 1; len < end; len++) {
		char line[sizeof(LINE)];

		snprintf(line, sizeof(line), "%.*s", (int)len, LINE);
		refused(line);
	}
}

static void hostile(void **state)
{
	static const char *const texts[] = {
		" ",
		"           ",
		"-",
		"- - - - - - - -",
		"a b c d e f g h",
		"9 1 0:4 / /x rw tmpfs none rw",          /* no "-" */
		"9 1 0:4 / /x rw shared:1 tmpfs none rw", /* no "-" */
		"9 1 0:4 / /x rw --- tmpfs none rw",
		"9 1 0:4 / /x y rw",
		"9 1 04 / /x rw - tmpfs none rw",
		"9 1 x:4 / /x rw - tmpfs none rw",
		"9 1 0: / /x rw - tmpfs none rw",
		"9 1 :4 / /x rw - tmpfs none rw",
		"9 1  / /x rw - tmpfs none rw",
		/* One good line saves nothing. */
		LINE "\nrubbish",
		"rubbish\n" LINE,
		LINE "\n9 1 0:4 / /x rw - tmpfs\n" LINE "\n",
		LINE "\n \n" LINE "\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i]);
}

/* An unescaped space shifts the fields: whatever is made of it, no mount is forged by it. */
static void embedded_space(void **state)
{
	automounts mounts = {};

	(void)state;
	one("9 1 0:4 / /x y rw - ext4 /dev/sda rw", &mounts);
	assert_string_equal(mounts.list->target, "/x");
	assert_string_equal(mounts.list->fstype, "ext4");
	assert_false(mounts.list->noexec);
}

static void empty(void **state)
{
	static const char *const texts[] = { "", "\n", "\n\n\n" };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		automounts mounts = {};

		assert_int_equal(parse(texts[i], &mounts), 0);
		assert_int_equal(mounts.count, 0);
	}
}

static void many_lines(void **state)
{
	enum { LINES = 3000 };
	autofree char *text = NULL;
	automounts mounts = {};
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	for (unsigned i = 0; i < LINES; i++)
		fprintf(f, "%u 1 %u:%u /r%u /t\\040%u %s - fs%u src rw,n=%u%s", i, i, i + 1, i, i,
			i % 2 ? "ro" : "rw", i, i, i % 7 ? "\n" : "\n\n");
	fprintf(f, "7 1 8:1 / /last rw - ext4 /dev/sda1 rw");
	fclose(f);
	assert_int_equal(parse(text, &mounts), 0);
	assert_int_equal(mounts.count, LINES + 1);
	for (unsigned i = 0; i < LINES; i++) {
		const struct bm_mount *m = &mounts.list[i];
		char expected[32];

		assert_int_equal(m->id, i);
		assert_int_equal(m->major, i);
		assert_int_equal(m->minor, i + 1);
		assert_int_equal(m->ro, i % 2);
		snprintf(expected, sizeof(expected), "/t %u", i);
		assert_string_equal(m->target, expected);
		snprintf(expected, sizeof(expected), "rw,n=%u", i);
		assert_string_equal(m->options, expected);
	}
	assert_string_equal(mounts.list[LINES].target, "/last");
}

static void option(void **state)
{
	static const struct {
		const char *options, *key;
		size_t size;
		const char *expected; /* NULL: absent, or no room */
	} cases[] = {
		{ "rw,lowerdir=/a:/b,upperdir=/u,workdir=/w", "lowerdir", 64, "/a:/b" },
		{ "rw,lowerdir=/a:/b,upperdir=/u,workdir=/w", "upperdir", 64, "/u" },
		{ "rw,lowerdir=/a:/b,upperdir=/u,workdir=/w", "workdir", 64, "/w" },
		{ "lowerdir=/a", "lowerdir", 64, "/a" },
		{ "lowerdir=", "lowerdir", 64, "" },
		{ "lowerdir=,upperdir=/u", "lowerdir", 64, "" },
		{ "lowerdir=/a=b", "lowerdir", 64, "/a=b" },
		{ "lowerdir=/1,lowerdir=/2", "lowerdir", 64, "/1" },
		/* How overlay writes names that hold its separators. */
		{ "lowerdir=/a\\134:b:/c", "lowerdir", 64, "/a\\:b:/c" },
		{ "lowerdir=/a\\054b,upperdir=/u", "lowerdir", 64, "/a,b" },
		{ "lowerdir=/a\\040b\\134040", "lowerdir", 64, "/a b\\040" },
		{ "rw,upperdir=/u", "lowerdir", 64, NULL },
		{ "", "lowerdir", 64, NULL },
		{ ",", "lowerdir", 64, NULL },
		{ "lowerdir", "lowerdir", 64, NULL },
		{ "lowerdir,lowerdir=/b", "lowerdir", 64, "/b" },
		{ "xlowerdir=/a", "lowerdir", 64, NULL },
		{ "lowerdirs=/a", "lowerdir", 64, NULL },
		{ "lowerdir+=/a", "lowerdir", 64, NULL },
		{ "upperdir=/x/lowerdir=/y", "lowerdir", 64, NULL },
		{ "upperdir=lowerdir=/y", "lowerdir", 64, NULL },
		/* No room: said, not cut. */
		{ "lowerdir=/abc", "lowerdir", 5, "/abc" },
		{ "lowerdir=/abc", "lowerdir", 4, NULL },
		{ "lowerdir=/abc,rw", "lowerdir", 5, "/abc" },
		{ "lowerdir=/abc,rw", "lowerdir", 4, NULL },
		{ "lowerdir=/abc,rw", "lowerdir", 1, NULL },
		{ "lowerdir=,rw", "lowerdir", 1, "" },
		{ "lowerdir=/a:/b", "lowerdir", 3, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		autofree char *buf = malloc(cases[i].size), *options = strdup(cases[i].options);
		bool there = bm_mount_option(options, cases[i].key, buf, cases[i].size);

		if (there != (cases[i].expected != NULL))
			fail_msg("%s in \"%s\", %zu bytes", cases[i].key, options, cases[i].size);
		if (there)
			assert_string_equal(buf, cases[i].expected);
	}
}

/* A root that is still below the host's, and names that only begin like it. */
static void below(void **state)
{
	static const char *const expected[] = { "/", "/proc", "/", "/a/b" };
	automounts mounts = {};

	(void)state;
	assert_int_equal(
		parse("1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / /b/root rw - ext4 a rw\n"
		      "3 2 0:3 / /b/root/proc rw - proc a rw\n4 1 0:4 / /b rw - ext4 a rw\n"
		      "5 1 0:5 / /b/rootfs rw - ext4 a rw\n6 2 0:6 / /b/root rw - ext4 a rw\n"
		      "7 6 0:7 / /b/root/a/b rw - tmpfs a rw\n8 1 0:8 / /x/b/root rw - ext4 a rw",
		      &mounts),
		0);
	bm_mounts_below(&mounts, "/b/root");
	assert_int_equal(mounts.count, COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++)
		assert_string_equal(mounts.list[i].target, expected[i]);
	assert_int_equal(mounts.list[0].id, 2);
	assert_int_equal(mounts.list[3].parent, 6);
	bm_mounts_below(&mounts, "/nowhere");
	assert_int_equal(mounts.count, 0);
}

static void read_self(void **state)
{
	struct bm_error err = {};
	automounts mounts = {};

	(void)state;
	assert_int_equal(bm_mounts_read(getpid(), &mounts, &err), 0);
	assert_true(mounts.count > 0);
	for (size_t i = 0; i < mounts.count; i++) {
		assert_true(mounts.list[i].id > 0);
		assert_int_equal(mounts.list[i].target[0], '/');
		assert_true(mounts.list[i].fstype[0]);
		assert_true(mounts.list[i].options[0] == 'r');
	}
}

static void read_absent(void **state)
{
	struct bm_error err = {};
	struct bm_mounts mounts = {};

	(void)state;
	assert_int_equal(bm_mounts_read(INT32_MAX, &mounts, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/proc/2147483647/mountinfo"));
	assert_null(mounts.list);
}

/* 0: found as it was mounted; 77: no mount could be made. */
static int mounted_as(const char *dir)
{
	struct bm_mounts mounts = {};
	int found = 0;

	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("a b\\", dir, "tmpfs", MS_RDONLY | MS_NOEXEC, NULL) < 0)
		return 77;
	if (bm_mounts_read(getpid(), &mounts, NULL) < 0)
		return 1;
	for (size_t i = 0; i < mounts.count; i++)
		found += !strcmp(mounts.list[i].target, dir) && mounts.list[i].ro &&
			 mounts.list[i].noexec && !strcmp(mounts.list[i].fstype, "tmpfs");
	return found == 1 ? 0 : 2;
}

/* The kernel's own way to write a name that holds what separates fields, lines and escapes. */
static void kernel_agrees(void **state)
{
	char top[] = "/tmp/benchmon-mounts-XXXXXX", dir[96];
	int status = 0;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(dir, sizeof(dir), "%s/ \t\n\\040#,:\303\244", top);
	assert_int_equal(mkdir(dir, 0700), 0);
	pid = fork();
	if (!pid)
		_exit(mounted_as(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rmdir(dir);
	rmdir(top);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Deeper than a path can be; symlinks and what is not there are told apart. */
static void opened_at_any_depth(void **state)
{
	char top[] = "/tmp/mounts.XXXXXX", name[201], path[60 * 201 + 8], *at = path;
	struct bm_mount m = { .target = path };
	struct stat wanted, found;
	autoclose root = -1, dir = -1;

	(void)state;
	memset(name, 'x', 200);
	name[200] = '\0';
	assert_non_null(mkdtemp(top));
	root = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 60; i++) {
		autoclose fd = -1;
		int next;

		assert_int_equal(mkdirat(dir, name, 0700), 0);
		next = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		bm_close(dir);
		dir = next;
		at += snprintf(at, 202, "/%s", name);
		fd = bm_mount_open(root, &m);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &found), 0);
		assert_int_equal(fstat(dir, &wanted), 0);
		assert_int_equal(found.st_ino, wanted.st_ino);
	}
	assert_int_equal(symlinkat("/", dir, "l"), 0);
	snprintf(at, 7, "/l/tmp");
	assert_int_equal(bm_mount_open(root, &m), -ELOOP);
	assert_int_equal(unlinkat(dir, "l", 0), 0);
	assert_int_equal(bm_mount_open(root, &m), -ENOENT);
	while (at > path) {
		autoclose above = -1;

		*at = '\0';
		at -= 201;
		*at = '\0';
		above = at > path ? bm_mount_open(root, &m) : fcntl(root, F_DUPFD_CLOEXEC, 0);
		assert_int_equal(unlinkat(above, name, AT_REMOVEDIR), 0);
	}
	assert_int_equal(rmdir(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),        cmocka_unit_test(optional_fields),
		cmocka_unit_test(sources),       cmocka_unit_test(flags),
		cmocka_unit_test(escapes),       cmocka_unit_test(truncated),
		cmocka_unit_test(hostile),       cmocka_unit_test(embedded_space),
		cmocka_unit_test(empty),         cmocka_unit_test(many_lines),
		cmocka_unit_test(option),        cmocka_unit_test(below),
		cmocka_unit_test(read_self),     cmocka_unit_test(read_absent),
		cmocka_unit_test(kernel_agrees), cmocka_unit_test(opened_at_any_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
