// SPDX-License-Identifier: GPL-2.0-only
/* Pins: each Bench's in a mount namespace that has nothing else. In a machine of the test's own. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/pin.h"

#define FILES 40

static void pinned(uint32_t bench, uint64_t object, struct bm_mounts *ret)
{
	autoclose fd = -1;
	char path[32];
	struct bm_error err = {};

	snprintf(path, sizeof(path), "/tmp/%d", (int)object);
	fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	if (bm_pin(bench, fd, getpid(), false, object, ret, &err) != 0)
		fail_msg("%s", err.message);
}

static size_t host_mounts(void)
{
	automounts mounts = {};

	assert_int_equal(bm_mounts_read(1, &mounts, NULL), 0);
	return mounts.count;
}

static bool odd(void *ctx, uint64_t number)
{
	(void)ctx;
	return number & 1;
}

static bool none(void *ctx, uint64_t number)
{
	(void)ctx;
	(void)number;
	return false;
}

/* The host has one mount for the place and one for each Bench, whatever is pinned. */
static void apart(void **state)
{
	size_t before = host_mounts();
	automounts none_yet = {}, pins = {}, others = {}, all = {};

	(void)state;
	assert_int_equal(bm_pins_read_all(&none_yet, NULL), 0);
	assert_int_equal(none_yet.count, 0);
	for (uint64_t object = 1; object <= FILES; object++) {
		bm_mounts_done(&pins);
		pinned(7, object, &pins);
		assert_true(bm_pinned(&pins, object));
	}
	pinned(8, 1, &others);
	assert_int_equal(host_mounts(), before + 3);
	/* And the root of their namespace, which is empty but for them. */
	assert_int_equal(pins.count, FILES + 1);
	assert_int_equal(others.count, 2);
	for (size_t i = 0; i < pins.count; i++)
		assert_int_equal(strcmp(pins.list[i].target, "/") ? pins.list[i].ro : 1, 1);
	assert_false(bm_pinned(&others, 2));
	assert_int_equal(bm_pins_read_all(&all, NULL), 0);
	assert_int_equal(all.count, FILES + 3);
	assert_true(bm_pinned(&all, 2));
	/* Once is enough. */
	bm_mounts_done(&pins);
	pinned(7, 1, &pins);
	assert_int_equal(pins.count, FILES + 1);
}

static void opened(void **state)
{
	struct stat wanted, found;
	uint64_t superblock;
	autoclose fd = -1;
	char fstype[32];

	(void)state;
	assert_int_equal(stat("/tmp/3", &wanted), 0);
	assert_int_equal(bm_pin_open(7, 3, &superblock, &fd), 0);
	assert_int_equal(fstat(fd, &found), 0);
	assert_true(wanted.st_ino == found.st_ino && wanted.st_dev == found.st_dev);
	assert_true(superblock == found.st_dev);
	assert_int_equal(bm_pin_fstype(7, 3, fstype, sizeof(fstype)), 0);
	assert_string_equal(fstype, "tmpfs");
	assert_int_equal(bm_pin_open(8, 3, &superblock, &fd), -ENOENT);
	assert_int_equal(bm_pin_open(9, 3, &superblock, &fd), -ENOENT);
}

/* With the last of a Bench's pins their place goes. */
static void swept(void **state)
{
	automounts pins = {}, left = {}, nothing = {};
	size_t before = host_mounts();

	(void)state;
	assert_int_equal(bm_pins_read(7, &pins, NULL), 0);
	assert_true(bm_pins_beyond(&pins, odd, NULL));
	assert_int_equal(bm_pins_sweep(7, odd, NULL, NULL), 0);
	assert_int_equal(bm_pins_read(7, &left, NULL), 0);
	assert_int_equal(left.count, FILES / 2 + 1);
	assert_false(bm_pins_beyond(&left, odd, NULL));
	assert_int_equal(host_mounts(), before);
	assert_int_equal(bm_pins_sweep(7, none, NULL, NULL), 0);
	assert_int_equal(host_mounts(), before - 1);
	assert_int_equal(access(BM_PIN_ROOT "/7", F_OK), -1);
	assert_int_equal(bm_pins_read(7, &nothing, NULL), 0);
	assert_int_equal(nothing.count, 0);
	assert_int_equal(bm_pins_sweep(7, none, NULL, NULL), 0);
}

/* A place whose namespace has gone is made anew; Benches that are none any more lose theirs. */
static void replaced(void **state)
{
	automounts pins = {}, again = {};
	size_t before = host_mounts();

	(void)state;
	assert_int_equal(umount2(BM_PIN_ROOT "/8", MNT_DETACH), 0);
	assert_int_equal(bm_pins_read(8, &pins, NULL), 0);
	assert_int_equal(pins.count, 0);
	pinned(8, 2, &again);
	pinned(7, 2, NULL);
	assert_int_equal(again.count, 2);
	assert_int_equal(host_mounts(), before + 1);
	assert_int_equal(bm_pins_only(odd, NULL, NULL), 0);
	assert_int_equal(access(BM_PIN_ROOT "/8", F_OK), -1);
	assert_int_equal(access(BM_PIN_ROOT "/7", F_OK), 0);
	assert_int_equal(bm_pins_end(NULL), 0);
	assert_int_equal(access(BM_PIN_ROOT, F_OK), -1);
}

static int tests(void)
{
	const struct CMUnitTest list[] = {
		cmocka_unit_test(apart),
		cmocka_unit_test(opened),
		cmocka_unit_test(swept),
		cmocka_unit_test(replaced),
	};

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0 ||
	    mount("test", "/run", "tmpfs", 0, NULL) < 0 ||
	    mount("test", "/tmp", "tmpfs", 0, NULL) < 0 || mkdir("/run/benchmon", 0755) < 0) {
		perror("test_pin: a machine of its own");
		return 1;
	}
	return cmocka_run_group_tests(list, NULL, NULL);
}

/*
 * Process 1 of it, whose mounts are the host's. A mount namespace is mounted in an older one alone,
 * and newer kernels number them by CPU: the real host's is the first of all.
 */
int main(void)
{
	cpu_set_t one;
	int status;
	pid_t pid;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0 ||
	    unshare(CLONE_NEWNS | CLONE_NEWPID) < 0) {
		perror("test_pin");
		return 1;
	}
	pid = fork();
	if (pid == 0)
		_exit(tests());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
