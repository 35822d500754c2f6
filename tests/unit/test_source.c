// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/source.h"
#include "policy/source.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static char top[64], real_top[PATH_MAX];
static int dir = -1;

static int setup(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "%s", "/tmp/benchmon-source-XXXXXX");
	if (!mkdtemp(top) || !realpath(top, real_top))
		return -1;
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 || fchmod(dir, 0755) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "file", "fifo", "link", "deleted" };

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		unlinkat(dir, names[i], 0);
	bm_close(dir);
	return rmdir(top);
}

static int file(int flags)
{
	int fd = openat(dir, "file", flags | O_CREAT | O_CLOEXEC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0640), 0);
	return fd;
}

static void refused(int fd, bool writable, uid_t caller, int code, const char *rule)
{
	struct bm_source s = { .fstype = "untouched" };
	struct bm_error err = {};

	assert_int_equal(bm_source_look(fd, writable, caller, &s, &err), -code);
	assert_int_equal(err.code, code);
	assert_string_equal(err.rule, rule);
	assert_true(err.message[0]);
	assert_string_equal(s.fstype, "untouched");
}

static void taken(int fd, bool writable, uid_t caller)
{
	struct bm_error err = {};
	struct bm_source s;

	if (bm_source_look(fd, writable, caller, &s, &err) != 0)
		fail_msg("%s (%s)", err.message, err.rule);
	assert_int_equal(err.code, 0);
}

static uid_t somebody_else(void)
{
	return getuid() + 1;
}

static void directory(void **state)
{
	struct bm_source s = {};
	struct stat st;

	(void)state;
	assert_int_equal(bm_source_look(dir, false, getuid(), &s, NULL), 0);
	assert_int_equal(fstat(dir, &st), 0);
	assert_string_equal(s.path, real_top);
	assert_true(s.directory);
	assert_int_equal(s.uid, getuid());
	assert_int_equal(s.gid, st.st_gid);
	assert_int_equal(s.mode, 0755);
	assert_int_equal(s.device, st.st_dev);
	assert_int_equal(s.inode, st.st_ino);
	assert_true(s.fstype[0]);
	assert_string_not_equal(s.fstype, "untouched");
}

static void regular_file(void **state)
{
	autoclose fd = file(O_RDWR);
	char expected[PATH_MAX + 8];
	struct bm_source s = {};
	struct stat st;

	(void)state;
	assert_int_equal(bm_write_all(fd, "hello", 5), 0);
	assert_int_equal(bm_source_look(fd, false, getuid(), &s, NULL), 0);
	assert_int_equal(fstat(fd, &st), 0);
	snprintf(expected, sizeof(expected), "%s/file", real_top);
	assert_string_equal(s.path, expected);
	assert_false(s.directory);
	assert_int_equal(s.mode, 0640);
	assert_int_equal(s.size, 5);
	assert_int_equal(s.inode, st.st_ino);
	assert_int_equal(s.device, st.st_dev);
}

/* What is looked at is what was opened, by whatever name. */
static void name_resolved(void **state)
{
	autoclose made = file(O_RDWR), fd = -1;
	struct bm_source s = {};

	(void)state;
	assert_int_equal(symlinkat("file", dir, "link"), 0);
	fd = openat(dir, "link", O_RDONLY | O_CLOEXEC);
	assert_int_equal(bm_source_look(fd, false, getuid(), &s, NULL), 0);
	assert_non_null(strstr(s.path, "/file"));
}

static void proves_no_access(void **state)
{
	autoclose path_dir = open(top, O_PATH | O_CLOEXEC), made = file(O_RDWR);
	autoclose path_file = openat(dir, "file", O_PATH | O_CLOEXEC);
	autoclose write_only = file(O_WRONLY);
	/* Root is no exception: the fd is what proves, not who sent it. */
	const uid_t callers[] = { 0, getuid(), somebody_else() };

	(void)state;
	for (size_t i = 0; i < COUNT(callers); i++) {
		refused(path_dir, false, callers[i], EPERM, "own-access");
		refused(path_file, false, callers[i], EPERM, "own-access");
		refused(path_file, true, callers[i], EPERM, "own-access");
		refused(write_only, false, callers[i], EPERM, "own-access");
		refused(write_only, true, callers[i], EPERM, "own-access");
	}
}

static void bad_fd(void **state)
{
	struct bm_source s;
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_source_look(-1, false, 0, &s, &err), -EBADF);
	assert_true(err.message[0]);
}

static void other_kinds(void **state)
{
	autoclose null = open("/dev/null", O_RDWR | O_CLOEXEC), fifo = -1, ours = -1, theirs = -1;
	int pair[2];

	(void)state;
	assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
	fifo = openat(dir, "fifo", O_RDWR | O_CLOEXEC);
	assert_true(fifo >= 0);
	refused(fifo, false, getuid(), EPERM, "object-kind");
	refused(null, false, getuid(), EPERM, "object-kind");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ours = pair[0];
	theirs = pair[1];
	refused(ours, false, getuid(), EPERM, "object-kind");
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	bm_close(theirs);
	bm_close(ours);
	ours = pair[0];
	theirs = pair[1];
	refused(ours, false, getuid(), EPERM, "object-kind");
}

static void kernel_views(void **state)
{
	static const struct {
		const char *path, *name;
	} views[] = {
		{ "/proc", "(proc)" },
		{ "/proc/self", "(proc)" },
		{ "/proc/self/status", "(proc)" },
		{ "/proc/sys/kernel", "(proc)" },
		{ "/sys", "(sysfs)" },
		{ "/sys/kernel", "(sysfs)" },
		{ "/proc/self/ns/net", "(nsfs)" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(views); i++) {
		autoclose fd = open(views[i].path, O_RDONLY | O_CLOEXEC);
		struct bm_error err = {};
		struct bm_source s;

		assert_true(fd >= 0);
		assert_int_equal(bm_source_look(fd, false, 0, &s, &err), -EPERM);
		assert_string_equal(err.rule, "object-kind");
		if (!strstr(err.message, views[i].name))
			fail_msg("%s: %s", views[i].path, err.message);
	}
}

static void deleted(void **state)
{
	autoclose fd = openat(dir, "deleted", O_RDWR | O_CREAT | O_CLOEXEC, 0600), gone = -1;
	autoclose anonymous = open(top, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	(void)state;
	taken(fd, true, getuid());
	assert_int_equal(unlinkat(dir, "deleted", 0), 0);
	refused(fd, false, getuid(), ENOENT, "object-kind");
	assert_int_equal(mkdirat(dir, "deleted", 0700), 0);
	gone = openat(dir, "deleted", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	taken(gone, true, getuid());
	assert_int_equal(unlinkat(dir, "deleted", AT_REMOVEDIR), 0);
	refused(gone, false, getuid(), ENOENT, "object-kind");
	/* Never had a name. */
	if (anonymous >= 0)
		refused(anonymous, false, getuid(), ENOENT, "object-kind");
}

static void writable_file(void **state)
{
	autoclose both = file(O_RDWR), read_only = file(O_RDONLY);

	(void)state;
	/* The open has decided, for whoever did it. */
	taken(both, true, getuid());
	taken(both, true, somebody_else());
	taken(both, false, somebody_else());
	taken(read_only, false, getuid());
	refused(read_only, true, getuid(), EACCES, "own-access");
	refused(read_only, true, somebody_else(), EACCES, "own-access");
	refused(read_only, true, 0, EACCES, "own-access");
}

static void writable_directory(void **state)
{
	static const struct {
		mode_t mode;
		bool others;
	} cases[] = {
		{ 0755, false }, { 0700, false }, { 0555, false }, { 0775, false },
		{ 0757, true },  { 0777, true },  { 01777, true }, { 0702, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(fchmod(dir, cases[i].mode), 0);
		taken(dir, true, getuid());
		taken(dir, true, 0);
		taken(dir, false, somebody_else());
		if (cases[i].others)
			taken(dir, true, somebody_else());
		else
			refused(dir, true, somebody_else(), EACCES, "own-access");
	}
}

/* Whoever the owner is, owning is enough; only root can make this test tell it from being root. */
static void owner_decides(void **state)
{
	const uid_t owner = geteuid() ? getuid() : 4321;
	struct bm_source s;

	(void)state;
	assert_int_equal(fchown(dir, owner, (gid_t)-1), 0);
	assert_int_equal(fchmod(dir, 01700), 0);
	taken(dir, true, owner);
	refused(dir, true, owner + 1, EACCES, "own-access");
	assert_int_equal(bm_source_look(dir, true, owner, &s, NULL), 0);
	assert_int_equal(s.uid, owner);
	assert_int_equal(s.mode, 01700);
}

static void never_granted(void **state)
{
	static const struct {
		const char *path, *rule;
	} cases[] = {
		/* Above benchmon's own. */
		{ "/", "object-kind" },      { "/run", "own-files" },     { "/var", "own-files" },
		{ "/var/lib", "own-files" }, { "/var/log", "own-files" }, { "/etc", "own-files" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		autoclose fd = open(cases[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_true(fd >= 0);
		refused(fd, false, 0, EPERM, cases[i].rule);
		refused(fd, true, 0, EPERM, cases[i].rule);
	}
}

static void beside_own_files(void **state)
{
	static const char *const paths[] = { "/var/tmp", "/usr", "/etc/passwd", "/var/lib/dpkg" };

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++) {
		autoclose fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		if (fd >= 0)
			taken(fd, false, getuid());
	}
}

static const struct {
	const char *path;
	bool own;
} below_run[] = {
	{ "/run/benchmon", true },
	{ "/run/benchmon/benches", true },
	{ "/run/benchmon/benches/b1", true },
	/* Names that only begin alike. */
	{ "/run/benchmon-other", false },
	{ "/run/benchmon-other/benchmon", false },
	{ "/run/benchmonx", false },
	{ "/run/bench", false },
	{ "/run/b", false },
	{ "/run/x", false },
	{ "/run/x/run", false },
	{ "/run/x/run/benchmon", false },
};

/* 0: as in the table; 77: there can be no /run of its own; else the number of the wrong line. */
static int look_below_run(void)
{
	const uid_t uid = geteuid();
	struct bm_source s;
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", uid);
	snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0 ||
	    (uid && bm_write_file(AT_FDCWD, "/proc/self/uid_map", 0, 0, uids) < 0) ||
	    (uid && bm_write_file(AT_FDCWD, "/proc/self/setgroups", 0, 0, "deny") < 0) ||
	    (uid && bm_write_file(AT_FDCWD, "/proc/self/gid_map", 0, 0, gids) < 0) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0)
		return 77;
	for (size_t i = 0; i < COUNT(below_run); i++) {
		struct bm_error err = {};
		int fd, r;

		if (mkdir(below_run[i].path, 0755) < 0)
			return 76;
		fd = open(below_run[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = bm_source_look(fd, false, 0, &s, &err);
		if (below_run[i].own ? r != -EPERM || strcmp(err.rule, "own-files") : r != 0)
			return (int)i + 1;
		bm_close(fd);
	}
	return 0;
}

static void own_files(void **state)
{
	pid_t pid = fork();
	int status = 0;

	(void)state;
	if (!pid)
		_exit(look_below_run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	if (WEXITSTATUS(status))
		fail_msg("%d: %s", WEXITSTATUS(status),
			 below_run[(WEXITSTATUS(status) - 1) % COUNT(below_run)].path);
}

#define OPENS 10000

static atomic_bool enough;
static atomic_ulong swaps;

static void *swap(void *arg)
{
	while (!enough)
		swaps += renameat2(dir, "file", dir, "link", RENAME_EXCHANGE) == 0;
	return arg;
}

/* By the very function `benchmon grant` opens with: what the name leads to by a link is never it.
 */
static void swapped(void **state)
{
	unsigned long opened = 0, refused = 0;
	pthread_t thread;
	struct stat st;
	char name[128];
	ino_t inode;
	int fd = file(O_RDWR);

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	inode = st.st_ino;
	bm_close(fd);
	fd = openat(dir, "fifo", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	bm_close(fd);
	assert_int_equal(symlinkat("fifo", dir, "link"), 0);
	snprintf(name, sizeof(name), "%s/file", top);
	assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
	for (int i = 0; i < OPENS || swaps < OPENS; i++) {
		struct bm_error err = {};

		if (cli_source_open(name, i % 2, &fd, &err) < 0) {
			assert_int_equal(err.code, ELOOP);
			refused++;
			continue;
		}
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_ino, inode);
		bm_close(fd);
		opened++;
	}
	enough = true;
	pthread_join(thread, NULL);
	assert_true(opened >= 100 && refused >= 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(directory, setup, teardown),
		cmocka_unit_test_setup_teardown(regular_file, setup, teardown),
		cmocka_unit_test_setup_teardown(name_resolved, setup, teardown),
		cmocka_unit_test_setup_teardown(proves_no_access, setup, teardown),
		cmocka_unit_test(bad_fd),
		cmocka_unit_test_setup_teardown(other_kinds, setup, teardown),
		cmocka_unit_test(kernel_views),
		cmocka_unit_test_setup_teardown(deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(writable_file, setup, teardown),
		cmocka_unit_test_setup_teardown(writable_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(owner_decides, setup, teardown),
		cmocka_unit_test(never_granted),
		cmocka_unit_test(beside_own_files),
		cmocka_unit_test(own_files),
		cmocka_unit_test_setup_teardown(swapped, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
