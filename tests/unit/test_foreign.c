// SPDX-License-Identifier: GPL-2.0-only
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
#include "bench/foreign.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static struct bm_mount host_list[] = {
	{ .id = 1, .major = 254, .minor = 1, .root = "/", .target = "/" },
	{ .id = 2, .major = 254, .minor = 2, .root = "/", .target = "/srv" },
	{ .id = 3, .major = 0, .minor = 40, .root = "/@home", .target = "/home" },
	{ .id = 4, .major = 0, .minor = 40, .root = "/@home/me/deep", .target = "/mnt/deep" },
	{ .id = 5, .major = 0, .minor = 41, .root = "/only/this", .target = "/data" },
	{ .id = 6, .major = 0, .minor = 42, .root = "/", .target = "/first" },
	{ .id = 7, .major = 0, .minor = 42, .root = "/", .target = "/last" },
};
static const struct bm_mounts host = { .list = host_list, .count = COUNT(host_list) };

static void source_on_the_host(void **state)
{
	static const struct {
		unsigned major, minor;
		const char *root, *source; /* NULL: nowhere */
	} cases[] = {
		{ 254, 1, "/", "/" },
		{ 254, 1, "/var/lib/x", "/var/lib/x" },
		{ 254, 2, "/", "/srv" },
		{ 254, 2, "/a b/c", "/srv/a b/c" },
		/* A subvolume, or part of one. */
		{ 0, 40, "/@home", "/home" },
		{ 0, 40, "/@home/me", "/home/me" },
		/* The mount that lies nearest. */
		{ 0, 40, "/@home/me/deep", "/mnt/deep" },
		{ 0, 40, "/@home/me/deep/er", "/mnt/deep/er" },
		{ 0, 40, "/@home/me/deeper", "/home/me/deeper" },
		/* A whole component, or none. */
		{ 0, 40, "/@home2", NULL },
		{ 0, 40, "/@hom", NULL },
		{ 0, 40, "/", NULL },
		{ 0, 41, "/only", NULL },
		{ 0, 41, "/only/this", "/data" },
		{ 0, 41, "/only/this/x", "/data/x" },
		{ 0, 41, "/only/thisx", NULL },
		/* What was mounted last is on top. */
		{ 0, 42, "/x", "/last/x" },
		/* Both numbers count. */
		{ 1, 254, "/", NULL },
		{ 254, 3, "/", NULL },
		{ 0, 99, "/x", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bm_mount m = { .major = cases[i].major,
				      .minor = cases[i].minor,
				      .root = cases[i].root };
		char found[64] = "";

		if (bm_foreign_source(&m, &host, found, sizeof(found)) != !!cases[i].source ||
		    (cases[i].source && strcmp(found, cases[i].source)))
			fail_msg("%u:%u %s: '%s', expected %s", m.major, m.minor, m.root, found,
				 cases[i].source ?: "nowhere");
	}
}

static void source_must_fit(void **state)
{
	struct bm_mount m = { .major = 254, .minor = 2, .root = "/abc" };
	char found[9];

	(void)state;
	assert_true(bm_foreign_source(&m, &host, found, sizeof(found)));
	assert_string_equal(found, "/srv/abc");
	assert_false(bm_foreign_source(&m, &host, found, sizeof(found) - 1));
}

static int open_root(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void what_is_mounted_below(void **state)
{
	static struct bm_mount list[] = {
		{ .id = 10, .parent = 9, .target = "/", .root = "/", .fstype = "overlay" },
		{ .id = 11, .parent = 10, .target = "/vol", .root = "/", .fstype = "ext4" },
		{ .id = 12, .parent = 10, .target = "/vol2", .root = "/x", .fstype = "ext4" },
		{ .id = 13, .parent = 11, .target = "/vol/in", .root = "/", .fstype = "ext4" },
		{ .id = 14, .parent = 13, .target = "/vol/in/er", .root = "/", .fstype = "tmpfs" },
	};
	const struct bm_mounts mounts = { .list = list, .count = COUNT(list) };
	static const char *const below[] = { "/vol", "/vol/in", NULL, "/vol/in/er", NULL };
	autoforeign foreign = {};

	(void)state;
	for (size_t i = 0; i < COUNT(list); i++) {
		list[i].major = 254;
		list[i].minor = 2;
		list[i].ro = i == 2;
		assert_int_equal(bm_foreign_add(&foreign, &list[i], S_IFDIR | 0755, &mounts, &host,
						open_root()),
				 0);
	}
	assert_int_equal(foreign.count, COUNT(list));
	for (size_t i = 0; i < COUNT(list); i++) {
		const struct bm_foreign *f = &foreign.list[i];

		assert_int_equal(f->id, list[i].id);
		assert_string_equal(f->path, list[i].target);
		assert_string_equal(f->fstype, list[i].fstype);
		assert_int_equal(f->ro, i == 2);
		if (below[i])
			assert_string_equal(f->below, below[i]);
		else
			assert_null(f->below);
	}
	assert_string_equal(foreign.list[2].source, "/srv/x");
}

static void lists_own_their_fds(void **state)
{
	struct bm_mount m = { .id = 1, .target = "/vol", .root = "/", .fstype = "nowhere" };
	const struct bm_mounts none = {};
	struct bm_foreign_list from = {}, to = {};
	int fds[5];

	(void)state;
	for (size_t i = 0; i < COUNT(fds); i++) {
		fds[i] = open_root();
		assert_int_equal(
			bm_foreign_add(i < 2 ? &to : &from, &m, S_IFREG, &none, &none, fds[i]), 0);
	}
	assert_null(to.list[0].source);
	assert_int_equal(bm_foreign_move(&to, &from), 0);
	assert_int_equal(from.count, 0);
	assert_null(from.list);
	assert_int_equal(to.count, COUNT(fds));
	for (size_t i = 0; i < COUNT(fds); i++)
		assert_int_equal(to.list[i].fd, fds[i]);
	/* Nothing more to move is no error. */
	assert_int_equal(bm_foreign_move(&to, &from), 0);
	bm_foreign_done(&from);
	bm_foreign_done(&to);
	for (size_t i = 0; i < COUNT(fds); i++)
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
	bm_foreign_done(&to);
}

/* By what it is, not by what it is called. */
static void opened_only_if_it_is_the_same(void **state)
{
	char dir[] = "/tmp/foreign.XXXXXX", name[64], other[64];
	struct bm_error err = {};
	autoclose tree = -1, made = -1;
	int fd = -1;

	(void)state;
	if (geteuid() || access("/proc/1/root/tmp", F_OK) < 0) {
		/* Not ours to look at: nothing is opened then. */
		assert_true(bm_foreign_open("/tmp", -1, false, &fd, &err) < 0);
		assert_int_equal(fd, -1);
		return;
	}
	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/file", dir);
	snprintf(other, sizeof(other), "%s/link", dir);
	made = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	tree = open(name, O_PATH | O_CLOEXEC);
	assert_true(made >= 0 && tree >= 0);
	assert_int_equal(symlink("file", other), 0);
	assert_int_equal(bm_foreign_open(name, tree, false, &fd, &err), 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	bm_close(fd);
	assert_int_equal(bm_foreign_open(name, tree, true, &fd, &err), 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	bm_close(fd);
	fd = -1;
	assert_int_equal(bm_foreign_open(other, tree, false, &fd, &err), -ELOOP);
	err = (struct bm_error){};
	assert_int_equal(bm_foreign_open(dir, tree, false, &fd, &err), -ESTALE);
	assert_string_equal(err.rule, "adopt");
	err = (struct bm_error){};
	assert_int_equal(unlink(name), 0);
	assert_int_equal(bm_foreign_open(name, tree, false, &fd, &err), -ENOENT);
	assert_int_equal(fd, -1);
	unlink(other);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source_on_the_host),
		cmocka_unit_test(source_must_fit),
		cmocka_unit_test(what_is_mounted_below),
		cmocka_unit_test(lists_own_their_fds),
		cmocka_unit_test(opened_only_if_it_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
