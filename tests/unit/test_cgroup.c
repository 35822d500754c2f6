// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may make a cgroup here gets one of his own to look at; who may not, looks at what there is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/cgroup.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *root;
static char name[64], inner[96]; /* "/x", "/x/inner"; inner is "" where none could be made */

static bool make(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	return mkdir(full, 0755) == 0;
}

/* Any cgroup below the root. */
static void borrow(void)
{
	autoclosedir DIR *dir = opendir(root);
	struct dirent *entry;

	name[0] = '\0';
	while (dir && !name[0] && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			snprintf(name, sizeof(name), "/%.60s", entry->d_name);
}

static int setup(void **state)
{
	(void)state;
	root = bm_cgroup_root();
	if (!root)
		return 0;
	snprintf(name, sizeof(name), "/benchmon-test-%d", getpid());
	snprintf(inner, sizeof(inner), "%s/inner", name);
	if (make(name) && make(inner))
		return 0;
	inner[0] = '\0';
	borrow();
	return 0;
}

static int teardown(void **state)
{
	autocgroup ref = BM_CGROUP_NONE;

	(void)state;
	if (!inner[0])
		return 0;
	if (bm_cgroup_open(name, &ref, NULL) < 0 || bm_cgroup_kill(&ref, NULL) < 0)
		return -1;
	return bm_cgroup_remove(name, NULL);
}

static void refused(const char *path, int code)
{
	struct bm_cgroup_ref ref = { .fd = -77 };
	struct bm_error err = {};
	int r = bm_cgroup_open(path, &ref, &err);

	if (r != -code)
		fail_msg("\"%s\": %d", path, r);
	assert_int_equal(err.code, code);
	assert_true(err.message[0]);
	assert_int_equal(ref.fd, -77);
}

static void taken(const char *path, const char *expected, uint32_t level)
{
	autocgroup ref = BM_CGROUP_NONE;
	struct bm_error err = {};
	struct stat st, there;
	char full[512];

	if (bm_cgroup_open(path, &ref, &err) != 0)
		fail_msg("%s: %s", path, err.message);
	assert_string_equal(ref.path, expected);
	assert_int_equal(ref.level, level);
	snprintf(full, sizeof(full), "%s%s", root, expected);
	assert_int_equal(fstat(ref.fd, &st), 0);
	assert_int_equal(stat(full, &there), 0);
	assert_int_equal(st.st_ino, there.st_ino);
	/* kernfs: the id is the inode number. */
	assert_int_equal(ref.id, st.st_ino);
	assert_int_equal(fcntl(ref.fd, F_GETFD), FD_CLOEXEC);
}

static void no_paths(void **state)
{
	char path[2 * BM_CGROUP_PATH];

	(void)state;
	if (!root) {
		refused("/x", EXDEV);
		return;
	}
	refused("", EINVAL);
	refused("/", EINVAL);
	refused("x", EINVAL);
	refused("x/y", EINVAL);
	refused(root, EINVAL);
	snprintf(path, sizeof(path), "%s/", root);
	refused(path, EINVAL);
	snprintf(path, sizeof(path), "%sx/y", root);
	refused(path, EINVAL);
	/* As /proc/PID/cgroup shows what lies outside of the reader's cgroup namespace. */
	refused("/../x", EINVAL);
	refused("/x/../y", EINVAL);
	refused("/x/y/../../..", EINVAL);
	refused("/..", EINVAL);
	refused("//x", EINVAL);
	refused("/x//y", EINVAL);
	refused("/x/..", EINVAL);
	refused("/.", EINVAL);
	refused("/./x", EINVAL);
	refused("/x/./y", EINVAL);
	refused("/benchmon-test-that-nobody-made", ENOENT);
	/* A file of the cgroup is no cgroup. */
	refused("/cgroup.procs", ENOTDIR);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[BM_CGROUP_PATH] = '\0';
	refused(path, EINVAL);
}

static void paths(void **state)
{
	char path[256];

	(void)state;
	if (!root || !name[0])
		return;
	taken(name, name, 1);
	snprintf(path, sizeof(path), "%s%s", root, name);
	taken(path, name, 1);
	snprintf(path, sizeof(path), "%s/", name);
	taken(path, name, 1);
	snprintf(path, sizeof(path), "%s%s/", root, name);
	taken(path, name, 1);
	if (!inner[0])
		return;
	taken(inner, inner, 2);
	snprintf(path, sizeof(path), "%s%s/", root, inner);
	taken(path, inner, 2);
}

/* The line "0::" of /proc/self/cgroup, read apart from the code. */
static void own_path(char ret[BM_CGROUP_PATH])
{
	autofclose FILE *f = fopen("/proc/self/cgroup", "re");
	char line[BM_CGROUP_PATH + 16];

	assert_non_null(f);
	ret[0] = '\0';
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			snprintf(ret, BM_CGROUP_PATH, "%.*s", BM_CGROUP_PATH - 1, line + 3);
	}
}

static void of_self(void **state)
{
	char expected[BM_CGROUP_PATH], path[BM_CGROUP_PATH] = "untouched";
	struct bm_error err = {};
	int r = bm_cgroup_of_pid(getpid(), path, &err);

	(void)state;
	own_path(expected);
	/* In the root of the v2 tree, or in none of it: there is nothing to hold on to. */
	if (!expected[0] || !strcmp(expected, "/")) {
		assert_int_equal(r, -EXDEV);
		assert_string_equal(path, "untouched");
		assert_string_equal(err.rule, "cgroup-v2");
	} else {
		assert_int_equal(r, 0);
		assert_string_equal(path, expected);
	}
}

static void of_nobody(void **state)
{
	char path[BM_CGROUP_PATH];
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_cgroup_of_pid(INT32_MAX, path, &err), -ESRCH);
	assert_non_null(strstr(err.message, "no process 2147483647"));
}

static void leave(int signal)
{
	(void)signal;
	_exit(3);
}

static void move(pid_t pid, const struct bm_cgroup_ref *ref)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	assert_int_equal(bm_write_file(ref->fd, "cgroup.procs", 0, 0, text), 0);
}

/* A child that waits in the cgroup, and leaves at SIGTERM. */
static pid_t child_in(const struct bm_cgroup_ref *ref)
{
	void (*before)(int) = signal(SIGTERM, leave);
	pid_t pid = fork();

	if (!pid) {
		for (;;)
			pause();
	}
	signal(SIGTERM, before);
	assert_true(pid > 0);
	move(pid, ref);
	return pid;
}

struct seen {
	pid_t pids[8];
	size_t count;
	size_t stop_at;
};

static int see(void *ctx, pid_t pid)
{
	struct seen *seen = ctx;

	assert_true(seen->count < COUNT(seen->pids));
	seen->pids[seen->count++] = pid;
	return seen->count == seen->stop_at ? 42 : 0;
}

static bool saw(const struct seen *seen, pid_t pid)
{
	size_t times = 0;

	for (size_t i = 0; i < seen->count; i++)
		times += seen->pids[i] == pid;
	return times == 1;
}

static bool frozen(const struct bm_cgroup_ref *ref)
{
	autofree char *text = NULL;

	assert_int_equal(bm_read_file(ref->fd, "cgroup.events", 4096, &text, NULL), 0);
	return strstr(text, "frozen 1");
}

/* What the next daemon finds of one that was killed, at each moment. */
static void standing(const struct bm_cgroup_ref *ref)
{
	int events = -1, r;
	bool was;

	/* Told when to look again, and never kept waiting. */
	while ((r = bm_cgroup_stop(ref, &events, NULL)) == -EAGAIN) {
		struct pollfd polled = { events, POLLPRI, 0 };

		assert_int_equal(poll(&polled, 1, 60000), 1);
		bm_close(TAKE_FD(events));
	}
	assert_int_equal(r, 0);
	assert_int_equal(events, -1);
	assert_true(frozen(ref) && bm_cgroup_stopping(ref) && !bm_cgroup_forgotten(ref));
	bm_cgroup_stopped(ref);
	assert_true(frozen(ref) && !bm_cgroup_stopping(ref));
	/* A look at it leaves it as it is. */
	assert_int_equal(bm_cgroup_pause(ref, &was, NULL), 0);
	assert_true(was && !bm_cgroup_forgotten(ref));
	assert_int_equal(bm_cgroup_resume(ref, was, NULL), 0);
	assert_true(frozen(ref));
	assert_int_equal(bm_cgroup_going_on(ref, NULL), 0);
	assert_true(frozen(ref) && bm_cgroup_forgotten(ref));
	bm_cgroup_stays(ref);
	assert_false(bm_cgroup_forgotten(ref));
	assert_int_equal(bm_cgroup_going_on(ref, NULL), 0);
	assert_int_equal(bm_cgroup_resume(ref, false, NULL), 0);
	assert_false(frozen(ref) || bm_cgroup_forgotten(ref) || bm_cgroup_stopping(ref));
	assert_int_equal(bm_cgroup_pause(ref, &was, NULL), 0);
	assert_true(!was && frozen(ref) && bm_cgroup_forgotten(ref));
	assert_int_equal(bm_cgroup_resume(ref, was, NULL), 0);
	assert_false(frozen(ref) || bm_cgroup_forgotten(ref));
}

static void with_processes(void **state)
{
	autocgroup outer = BM_CGROUP_NONE, below = BM_CGROUP_NONE;
	struct seen seen = {}, first = { .stop_at = 1 };
	char path[BM_CGROUP_PATH];
	pid_t pids[2];
	int status;

	(void)state;
	if (!root || !inner[0])
		return;
	assert_int_equal(bm_cgroup_open(name, &outer, NULL), 0);
	assert_int_equal(bm_cgroup_open(inner, &below, NULL), 0);
	pids[0] = child_in(&outer);
	pids[1] = child_in(&below);
	assert_int_equal(bm_cgroup_of_pid(pids[0], path, NULL), 0);
	assert_string_equal(path, name);
	assert_int_equal(bm_cgroup_of_pid(pids[1], path, NULL), 0);
	assert_string_equal(path, inner);

	assert_int_equal(bm_cgroup_each(&outer, see, &seen), 0);
	assert_int_equal(seen.count, 2);
	assert_true(saw(&seen, pids[0]) && saw(&seen, pids[1]));
	assert_int_equal(bm_cgroup_each(&outer, see, &first), 42);
	assert_int_equal(first.count, 1);

	assert_false(frozen(&outer));
	assert_int_equal(bm_cgroup_freeze(&outer, true, NULL), 0);
	assert_true(frozen(&outer) && frozen(&below));
	/* A handler is the task's own code: it does not run. */
	assert_int_equal(kill(pids[1], SIGTERM), 0);
	assert_int_equal(waitpid(pids[1], &status, WNOHANG), 0);
	assert_int_equal(bm_cgroup_freeze(&outer, false, NULL), 0);
	assert_false(frozen(&outer) || frozen(&below));
	assert_int_equal(waitpid(pids[1], &status, 0), pids[1]);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);

	standing(&outer);

	/* Frozen ones too, and those below. */
	pids[1] = child_in(&below);
	assert_int_equal(bm_cgroup_freeze(&outer, true, NULL), 0);
	assert_int_equal(bm_cgroup_kill(&outer, NULL), 0);
	for (size_t i = 0; i < COUNT(pids); i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	assert_int_equal(bm_cgroup_freeze(&outer, false, NULL), 0);
	assert_int_equal(bm_cgroup_kill(&outer, NULL), 0);
}

static void removing(void **state)
{
	char gone[128], below[160];

	(void)state;
	if (!root || !inner[0])
		return;
	snprintf(gone, sizeof(gone), "%s/gone", name);
	snprintf(below, sizeof(below), "%s/below", gone);
	assert_true(make(gone) && make(below));
	assert_int_equal(bm_cgroup_remove(gone, NULL), 0);
	refused(gone, ENOENT);
	assert_int_equal(bm_cgroup_remove(gone, NULL), 0);
	taken(inner, inner, 2);
}

static void root_is_v2(void **state)
{
	char path[128];

	(void)state;
	if (!root)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
	assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_is_v2), cmocka_unit_test(no_paths),
		cmocka_unit_test(paths),      cmocka_unit_test(of_self),
		cmocka_unit_test(of_nobody),  cmocka_unit_test(with_processes),
		cmocka_unit_test(removing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
