// SPDX-License-Identifier: GPL-2.0-only
/* What a Bench is told apart by: its flags, and the filter of one that may make user namespaces. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/bundle.h"
#include "bench/syscalls.h"
#include "gatekeeperd/model.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void flags(void **state)
{
	static const struct {
		struct bench bench;
		uint32_t flags;
	} cases[] = {
		{ { .origin = ORIGIN_ATTACHED }, 0 },
		{ { .origin = ORIGIN_CREATED }, BM_BENCH_HOLDER },
		{ { .origin = ORIGIN_ATTACHED, .exec = EXEC_IMAGE }, BM_BENCH_IMAGE },
		{ { .origin = ORIGIN_ATTACHED, .userns = true }, BM_BENCH_USERNS },
		{ { .origin = ORIGIN_CREATED, .userns = true }, BM_BENCH_USERNS | BM_BENCH_HOLDER },
		{ { .origin = ORIGIN_ATTACHED, .shared = 1u << BM_NS_IPC }, BM_BENCH_SHARED_IPC },
		{ { .origin = ORIGIN_ATTACHED, .shared = 1u << BM_NS_PID }, BM_BENCH_SHARED_PID },
		{ { .origin = ORIGIN_ATTACHED, .shared = 1u << BM_NS_NET }, BM_BENCH_SHARED_NET },
		{ { .origin = ORIGIN_ATTACHED, .shared = 1u << BM_NS_UTS }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		if (bench_flags(&cases[i].bench) != cases[i].flags)
			fail_msg("%zu: flags %u", i, bench_flags(&cases[i].bench));
}

static void shared_names(void **state)
{
	static const char *const bad[] = { "[\"host\"]", "[\"pid\",1]", "[\"\"]", "[null]" };
	uint32_t shared = 0xdead;

	(void)state;
	assert_int_equal(bench_shared_parse(NULL, &shared), 0);
	assert_int_equal(shared, 0);
	for (uint32_t all = 0; all < 1u << BM_NS_MAX; all++) {
		struct bench bench = { .shared = all };
		autojson *list = bench_shared_to_json(&bench);

		assert_int_equal(bench_shared_parse(list, &shared), 0);
		assert_int_equal(shared, all);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		autojson *list = json_tokener_parse(bad[i]);

		shared = 7;
		assert_int_equal(bench_shared_parse(list, &shared), -EBADMSG);
		assert_int_equal(shared, 7);
	}
}

/* Where the filter lets them through, the kernel itself says what is wrong with these. */
static int userns_reaches_kernel(void)
{
	if (syscall(SYS_unshare, CLONE_NEWUSER | 1) >= 0 || errno != EINVAL)
		return 1;
	if (syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS, 0, 0, 0, 0) >= 0 || errno != EINVAL)
		return 2;
	return syscall(SYS_clone3, NULL, 0) >= 0 || errno != EINVAL ? 3 : 0;
}

static int userns_denied(void)
{
	if (syscall(SYS_unshare, CLONE_NEWUSER | 1) >= 0 || errno != EPERM)
		return 1;
	if (syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS, 0, 0, 0, 0) >= 0 || errno != EPERM)
		return 2;
	return syscall(SYS_clone3, NULL, 0) >= 0 || errno != ENOSYS ? 3 : 0;
}

static int others_denied(void)
{
	for (int i = 0; bm_denied_syscalls[i]; i++)
		if (!strcmp(bm_denied_syscalls[i], "unshare"))
			return 1;
	return syscall(SYS_mount, 0, 0, 0, 0, 0) >= 0 || errno != EPERM ||
			       syscall(SYS_setns, -1, 0) >= 0 || errno != EPERM
		       ? 2
		       : 0;
}

static int in_child(bool image, bool userns, int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    bm_syscalls_deny(image, userns, NULL) < 0)
			_exit(99);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void filter_of_userns(void **state)
{
	(void)state;
	for (int image = 0; image < 2; image++) {
		assert_int_equal(in_child(image, false, userns_denied), 0);
		assert_int_equal(in_child(image, true, userns_reaches_kernel), 0);
		assert_int_equal(in_child(image, true, others_denied), 0);
	}
}

/* How often a call is in the rules of the container's own filter. */
static size_t rules_with(bool userns, const char *call)
{
	struct bm_bundle bundle = {
		.name = "b1", .rootfs = "/r", .scratch = "/s", .cgroup = "/c", .userns = userns
	};
	char path[] = "/tmp/benchmon-modes-XXXXXX";
	autoclose dir = -1;
	autofree char *text = NULL;
	autojson *json = NULL;
	struct json_object *part, *list;
	size_t found = 0;

	assert_non_null(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(bm_bundle_write(dir, &bundle, NULL), 0);
	assert_int_equal(bm_read_file(dir, "config.json", 1 << 20, &text, NULL), 0);
	assert_int_equal(unlinkat(dir, "config.json", 0), 0);
	assert_int_equal(rmdir(path), 0);
	json = json_tokener_parse(text);
	assert_true(json_object_object_get_ex(json, "linux", &part) &&
		    json_object_object_get_ex(part, "seccomp", &part) &&
		    json_object_object_get_ex(part, "syscalls", &list));
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *names =
			bm_json_get(json_object_array_get_idx(list, i), "names", json_type_array);

		for (size_t j = 0; j < json_object_array_length(names); j++)
			found += !strcmp(
				json_object_get_string(json_object_array_get_idx(names, j)), call);
	}
	return found;
}

static void config_of_userns(void **state)
{
	static const char *const calls[] = { "clone", "clone3", "unshare" };

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++) {
		assert_int_equal(rules_with(false, calls[i]), 1);
		assert_int_equal(rules_with(true, calls[i]), 0);
	}
	assert_int_equal(rules_with(true, "mount"), 1);
	assert_int_equal(rules_with(true, "setns"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags),
		cmocka_unit_test(shared_names),
		cmocka_unit_test(filter_of_userns),
		cmocka_unit_test(config_of_userns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
