// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/outputs.h"
#include "bench/outputs_internal.h"

#define HASH_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define WAIT_MS 60000

static char top[] = "/tmp/test_outputs.XXXXXX";
static int tree = -1;

static int in_tree(void **state)
{
	(void)state;
	if (!mkdtemp(top))
		return -1;
	tree = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return tree < 0 ? -1 : 0;
}

/* Depth first, and by name: it holds what no shell should be given. */
static void empty(int dir)
{
	autoclosedir DIR *d = fdopendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		int fd;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
		if (fd < 0) {
			unlinkat(dirfd(d), entry->d_name, 0);
			continue;
		}
		empty(fd);
		unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR);
	}
}

static int emptied(void **state)
{
	(void)state;
	empty(openat(tree, ".", O_RDONLY | O_DIRECTORY));
	return 0;
}

static int done(void **state)
{
	(void)state;
	bm_close(tree);
	return rmdir(top);
}

static void put(const char *path, const char *text)
{
	int fd = openat(tree, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(bm_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void make_dir(const char *path)
{
	assert_int_equal(mkdirat(tree, path, 0755), 0);
}

static struct bm_outputs_look look_since(uint64_t since)
{
	return (struct bm_outputs_look){ .fd = tree,
					 .since_ns = (int64_t)since,
					 .uid = geteuid(),
					 .gid = getegid(),
					 .limits = BM_OUTPUTS_LIMITS };
}

static int try_collect(const struct bm_outputs_look *look, struct bm_outputs *ret)
{
	struct bm_collecting c = { -1, 0 };
	struct bm_error err = {};
	int r = bm_outputs_start(look, &c, &err);

	if (r == 0)
		r = bm_outputs_finish(&c, WAIT_MS, ret, &err);
	assert_int_equal(r, -err.code);
	return r;
}

static void collect(const struct bm_outputs_look *look, struct bm_outputs *ret)
{
	assert_int_equal(try_collect(look, ret), 0);
}

static const struct bm_output *find(const struct bm_outputs *outputs, const char *path)
{
	for (size_t i = 0; i < outputs->count; i++)
		if (!strcmp(outputs->list[i].path, path))
			return &outputs->list[i];
	return NULL;
}

static void check_hash(const struct bm_output *out, const char *wanted)
{
	char hex[65];

	assert_non_null(out);
	assert_int_equal(out->state, BM_OUTPUT_HASHED);
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", out->sha256[i]);
	assert_string_equal(hex, wanted);
}

static void files_and_their_hashes(void **state)
{
	struct bm_outputs_look look = look_since(0);
	autooutputs out = {};

	(void)state;
	put("b", "abc");
	put("a\n\x1b[31m\xff", "abc");
	make_dir("d");
	make_dir("d/e");
	put("d/e/c", "abc");
	put("empty", "");
	collect(&look, &out);
	assert_int_equal(out.count, 4);
	assert_string_equal(out.list[0].path, "a\n\x1b[31m\xff");
	check_hash(&out.list[0], HASH_ABC);
	check_hash(find(&out, "b"), HASH_ABC);
	check_hash(find(&out, "d/e/c"), HASH_ABC);
	check_hash(find(&out, "empty"),
		   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_int_equal(find(&out, "b")->size, 3);
	assert_true(find(&out, "b")->mtime_ns > 0);
	assert_int_equal(out.counts.entries, 6);
	assert_int_equal(out.counts.bytes, 9);
	assert_int_equal(out.counts.bounds, 0);
}

static void what_was_there_before_is_not_written(void **state)
{
	uint64_t now = bm_now_ns(CLOCK_REALTIME);
	struct bm_outputs_look look = look_since(now + 3600 * 1000000000ull);
	struct timespec later[2] = { { .tv_sec = (time_t)(now / 1000000000) + 3600 },
				     { .tv_sec = (time_t)(now / 1000000000) + 3600 } };
	autooutputs out = {}, again = {};

	(void)state;
	put("old", "abc");
	put("new", "abc");
	assert_int_equal(utimensat(tree, "new", later, 0), 0);
	collect(&look, &out);
	/* To the second, as some file systems have it: that counts as after. */
	assert_int_equal(out.count, 1);
	assert_string_equal(out.list[0].path, "new");
	assert_int_equal(out.counts.entries, 2);

	/* A time that was set back: the change of the inode tells. */
	later[0].tv_sec = later[1].tv_sec = 1000;
	assert_int_equal(utimensat(tree, "new", later, 0), 0);
	look = look_since(now);
	collect(&look, &again);
	assert_non_null(find(&again, "new"));
}

static void odd_things(void **state)
{
	struct bm_outputs_look look = look_since(0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	autooutputs out = {};
	autoclose fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	put("file", "abc");
	assert_int_equal(mkfifoat(tree, "fifo", 0644), 0);
	assert_int_equal(symlinkat("/etc/passwd", tree, "link"), 0);
	assert_int_equal(symlinkat("/etc", tree, "dirlink"), 0);
	assert_int_equal(symlinkat("file", tree, "inner"), 0);
	assert_int_equal(symlinkat("loop", tree, "loop"), 0);
	assert_int_equal(linkat(tree, "file", tree, "hard", 0), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", top);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	collect(&look, &out);
	assert_int_equal(out.count, 2);
	check_hash(find(&out, "file"), HASH_ABC);
	check_hash(find(&out, "hard"), HASH_ABC);
	assert_int_equal(out.counts.links, 4);
	assert_int_equal(out.counts.special, 2);
	assert_int_equal(out.counts.bounds, 0);
}

/* A device is not even opened: that alone can do something. */
static void devices(void **state)
{
	struct bm_outputs_look look = look_since(0);
	autooutputs out = {};

	(void)state;
	if (mknodat(tree, "null", S_IFCHR | 0666, makedev(1, 3)) < 0)
		assert_int_equal(mkfifoat(tree, "null", 0666), 0);
	collect(&look, &out);
	assert_int_equal(out.count, 0);
	assert_int_equal(out.counts.special, 1);
}

static void huge_and_sparse(void **state)
{
	struct bm_outputs_look look = look_since(0);
	autooutputs out = {};
	int fd = openat(tree, "huge", O_WRONLY | O_CREAT, 0644);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	close(fd);
	put("small", "abc");
	collect(&look, &out);
	assert_int_equal(out.count, 2);
	assert_int_equal(find(&out, "huge")->state, BM_OUTPUT_BOUND);
	assert_true(find(&out, "huge")->size == 1ull << 40);
	check_hash(find(&out, "small"), HASH_ABC);
	assert_int_equal(out.counts.bounds, 1 << BM_BOUND_BYTES);
	assert_int_equal(out.counts.bytes, 3);
}

static void bounds(void **state)
{
	struct bm_outputs_look look = look_since(0);
	char name[16];

	(void)state;
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "file%02d", i);
		put(name, "abc");
	}
	for (enum bm_outputs_bound bound = 0; bound < BM_BOUND_MAX; bound++) {
		autooutputs out = {};

		look.limits = BM_OUTPUTS_LIMITS;
		if (bound == BM_BOUND_FILES)
			look.limits.files = 5;
		else if (bound == BM_BOUND_ENTRIES)
			look.limits.entries = 7;
		else if (bound == BM_BOUND_BYTES)
			look.limits.bytes = 10;
		else if (bound == BM_BOUND_PATHS)
			look.limits.paths = 20;
		else if (bound == BM_BOUND_SECONDS)
			look.limits.ms = 0;
		else
			continue;
		collect(&look, &out);
		assert_int_equal(out.counts.bounds, 1 << bound);
		if (bound == BM_BOUND_FILES)
			assert_int_equal(out.count, 5);
		if (bound == BM_BOUND_ENTRIES)
			assert_int_equal(out.counts.entries, 7);
		if (bound == BM_BOUND_BYTES)
			assert_int_equal(out.counts.bytes, 9);
		if (bound == BM_BOUND_PATHS)
			assert_int_equal(out.count, 3);
		if (bound == BM_BOUND_SECONDS)
			assert_int_equal(out.count, 0);
	}
	/* More than a receipt takes is not looked for. */
	look.limits = BM_OUTPUTS_LIMITS;
	look.limits.files++;
	assert_int_equal(try_collect(&look, &(struct bm_outputs){}), -EINVAL);
}

static void depth(void **state)
{
	struct bm_outputs_look look = look_since(0);
	char path[PATH_MAX] = "", file[PATH_MAX + 8];
	autooutputs out = {};

	(void)state;
	for (int i = 0; i < 40; i++) {
		size_t len = strlen(path);

		snprintf(path + len, sizeof(path) - len, i ? "/d" : "d");
		make_dir(path);
		snprintf(file, sizeof(file), "%s/f", path);
		put(file, "abc");
	}
	collect(&look, &out);
	assert_int_equal(out.count, BM_OUTPUTS_DEPTH);
	assert_int_equal(out.counts.bounds, 1 << BM_BOUND_DEPTH);
}

static void what_is_told_of_elsewhere(void **state)
{
	const char *const names[] = { "d/.env", NULL };
	struct bm_outputs_look look = look_since(0);
	struct bm_outputs_apart apart;
	struct stat st;
	autooutputs out = {};

	(void)state;
	make_dir("d");
	make_dir("granted");
	put("granted/x", "abc");
	put("d/.env", "abc");
	put("d/env", "abc");
	put(".env", "abc");
	assert_int_equal(fstatat(tree, "granted", &st, 0), 0);
	apart = (struct bm_outputs_apart){ st.st_dev, st.st_ino };
	look.apart = &apart;
	look.apart_count = 1;
	look.names = names;
	collect(&look, &out);
	assert_int_equal(out.count, 2);
	assert_non_null(find(&out, "d/env"));
	assert_non_null(find(&out, ".env"));
	assert_int_equal(out.counts.apart, 2);
}

static void one_file(void **state)
{
	struct bm_outputs_look look = look_since(0);
	autoclose fd = -1;
	autooutputs out = {};

	(void)state;
	put("file", "abc");
	fd = openat(tree, "file", O_PATH);
	look.fd = fd;
	collect(&look, &out);
	assert_int_equal(out.count, 1);
	check_hash(find(&out, ""), HASH_ABC);
}

/* It has the access of that user, and no more. */
static void what_the_user_can_not_read(void **state)
{
	struct bm_outputs_look look = look_since(0);
	autooutputs out = {}, own = {};

	(void)state;
	if (geteuid() != 0) {
		look.uid++;
		assert_int_equal(try_collect(&look, &out), -EPERM);
		return;
	}
	make_dir("theirs");
	put("theirs/x", "abc");
	put("secret", "abc");
	put("open", "abc");
	assert_int_equal(fchmodat(tree, "theirs", 0700, 0), 0);
	assert_int_equal(fchmodat(tree, "secret", 0600, 0), 0);
	assert_int_equal(fchmodat(tree, ".", 0755, 0), 0);
	look.uid = look.gid = 12345;
	collect(&look, &out);
	assert_int_equal(out.count, 2);
	check_hash(find(&out, "open"), HASH_ABC);
	assert_int_equal(find(&out, "secret")->state, BM_OUTPUT_UNREADABLE);
	assert_int_equal(find(&out, "secret")->error, EACCES);
	assert_int_equal(out.counts.unreadable, 1);
	/* Of root's own everything that is root's, and nothing that takes a capability. */
	assert_int_equal(fchownat(tree, "secret", 12345, 12345, 0), 0);
	look.uid = look.gid = 0;
	collect(&look, &own);
	check_hash(find(&own, "theirs/x"), HASH_ABC);
	assert_int_equal(find(&own, "secret")->error, EACCES);
}

static pid_t while_others(void (*fn)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			fn();
	}
	assert_true(pid > 0);
	return pid;
}

static void end_others(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void rewrite(void)
{
	int fd = openat(tree, "busy", O_WRONLY);

	if (fd < 0 || write(fd, "xyz", 3) != 3 || close(fd) < 0)
		_exit(1);
}

/* What is said of it is of no moment in between: a hash of all of it, or none. */
static void a_file_that_changes(void **state)
{
	struct bm_outputs_look look = look_since(0);
	int fd = openat(tree, "busy", O_WRONLY | O_CREAT, 0644);
	bool changed = false;
	pid_t pid;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 8 << 20), 0);
	close(fd);
	pid = while_others(rewrite);
	for (int i = 0; i < 50 && !changed; i++) {
		autooutputs out = {};

		collect(&look, &out);
		assert_int_equal(out.count, 1);
		changed = out.list[0].state == BM_OUTPUT_CHANGED;
		assert_true(changed || out.list[0].state == BM_OUTPUT_HASHED);
	}
	end_others(pid);
	assert_true(changed);
}

static void swap(void)
{
	if (renameat2(tree, "d", tree, "link", RENAME_EXCHANGE) < 0)
		_exit(1);
}

/* A directory that is exchanged for a link out of the tree again and again leads nowhere. */
static void a_directory_that_is_swapped(void **state)
{
	struct bm_outputs_look look = look_since(0);
	char outside[] = "/tmp/test_outputs_outside.XXXXXX", file[64];
	int fd;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(outside));
	snprintf(file, sizeof(file), "%s/secret", outside);
	fd = open(file, O_WRONLY | O_CREAT, 0644);
	assert_true(fd >= 0);
	close(fd);
	make_dir("d");
	put("d/mine", "abc");
	assert_int_equal(symlinkat(outside, tree, "link"), 0);
	pid = while_others(swap);
	for (int i = 0; i < 200; i++) {
		autooutputs out = {};

		collect(&look, &out);
		for (size_t n = 0; n < out.count; n++)
			assert_null(strstr(out.list[n].path, "secret"));
	}
	end_others(pid);
	unlink(file);
	rmdir(outside);
}

/* It may have been taken over by what it read. */
static void answers_that_are_none(void **state)
{
	struct outputs_answer a = {};
	autoclose fd = -1;
	autofree char *whole = NULL;
	size_t len;

	(void)state;
	assert_non_null(outputs_add(&a, "b"));
	assert_non_null(outputs_add(&a, "a"));
	assert_int_equal(outputs_send(&a, &fd), 0);
	assert_int_equal(bm_read_fd(fd, 1 << 20, &whole, &len), 0);
	for (size_t cut = 0; cut <= len; cut++) {
		autoclose part = memfd_create("answer", 0);
		autooutputs out = {};

		assert_int_equal(bm_write_all(part, whole, cut), 0);
		assert_int_equal(lseek(part, 0, SEEK_SET), 0);
		assert_int_equal(outputs_take(part, &out), cut == len ? 0 : -EPROTO);
		if (cut == len)
			assert_string_equal(out.list[0].path, "a");
	}
	/* Every byte of the header and the records, turned: an answer or none, never a crash. */
	for (size_t at = 0; at < len; at++) {
		autoclose part = memfd_create("answer", 0);
		autooutputs out = {};
		int r;

		whole[at] ^= 0xff;
		assert_int_equal(bm_write_all(part, whole, len), 0);
		whole[at] ^= 0xff;
		assert_int_equal(lseek(part, 0, SEEK_SET), 0);
		r = outputs_take(part, &out);
		assert_true(r == 0 || r == -EPROTO);
		assert_true(r < 0 || out.count == 2);
	}
}

static void given_up(void **state)
{
	struct bm_outputs_look look = look_since(0);
	struct bm_collecting c;

	(void)state;
	assert_int_equal(bm_outputs_start(&look, &c, NULL), 0);
	bm_outputs_abandon(&c);
	assert_int_equal(c.socket, -1);
	assert_int_equal(waitpid(c.pid, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
	bm_outputs_abandon(&c);
}

#define TEST(name) cmocka_unit_test_teardown(name, emptied)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_and_their_hashes),
		TEST(what_was_there_before_is_not_written),
		TEST(odd_things),
		TEST(devices),
		TEST(huge_and_sparse),
		TEST(bounds),
		TEST(depth),
		TEST(what_is_told_of_elsewhere),
		TEST(one_file),
		TEST(what_the_user_can_not_read),
		TEST(a_file_that_changes),
		TEST(a_directory_that_is_swapped),
		TEST(answers_that_are_none),
		TEST(given_up),
	};

	return cmocka_run_group_tests(tests, in_tree, done);
}
