// SPDX-License-Identifier: GPL-2.0-only
/* What a Bench is made of: its config.json, and the system calls it never gets. */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "bench/bundle.h"
#include "bench/syscalls.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static char dir_path[64];
static int dir = -1;

static int setup(void **state)
{
	(void)state;
	snprintf(dir_path, sizeof(dir_path), "%s", "/tmp/benchmon-bundle-XXXXXX");
	if (!mkdtemp(dir_path))
		return -1;
	dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(dir, "config.json", 0);
	bm_close(dir);
	return rmdir(dir_path);
}

static const struct bm_bundle plain = {
	.name = "b1",
	.rootfs = "/run/benchmon/benches/b1/rootfs",
	.scratch = "/var/lib/benchmon/benches/b1/work",
	.cgroup = "/benchmon/b1",
	.id_base = 0x70010000,
};

static struct json_object *written(const struct bm_bundle *bundle)
{
	struct json_object *json = NULL;
	autofree char *text = NULL;
	struct bm_error err = {};
	size_t len;

	assert_int_equal(bm_bundle_write(dir, bundle, &err), 0);
	assert_int_equal(bm_read_file(dir, "config.json", 1 << 20, &text, &len), 0);
	if (bm_json_parse(text, len, "config.json", &json, &err) != 0)
		fail_msg("%s", err.message);
	return json;
}

/* "a/b/c" below json. */
static struct json_object *at(struct json_object *json, const char *path)
{
	char copy[128], *rest = copy, *key;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((key = strsep(&rest, "/")))
		if (!json_object_object_get_ex(json, key, &json))
			return NULL;
	return json;
}

static const char *string_at(struct json_object *json, const char *path)
{
	struct json_object *value = at(json, path);

	return value && json_object_is_type(value, json_type_string) ? json_object_get_string(value)
								     : "(none)";
}

static int64_t int_at(struct json_object *json, const char *path)
{
	struct json_object *value = at(json, path);

	return value && json_object_is_type(value, json_type_int) ? json_object_get_int64(value)
								  : -1;
}

static bool holds(struct json_object *array, const char *text)
{
	assert_true(json_object_is_type(array, json_type_array));
	for (size_t i = 0; i < json_object_array_length(array); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(array, i)), text))
			return true;
	return false;
}

static struct json_object *mount_at(struct json_object *json, const char *target)
{
	struct json_object *list = at(json, "mounts"), *found = NULL;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *m = json_object_array_get_idx(list, i);

		if (strcmp(string_at(m, "destination"), target) != 0)
			continue;
		assert_null(found);
		found = m;
	}
	assert_non_null(found);
	return found;
}

static void basics(void **state)
{
	autojson *json = written(&plain);
	struct stat st;

	(void)state;
	assert_int_equal(fstatat(dir, "config.json", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_string_equal(string_at(json, "root/path"), plain.rootfs);
	assert_string_equal(string_at(json, "hostname"), "b1");
	assert_string_equal(string_at(json, "linux/cgroupsPath"), "/benchmon/b1");
	assert_true(json_object_get_boolean(at(json, "process/noNewPrivileges")));
	assert_false(bm_json_bool(at(json, "process"), "terminal"));
	assert_int_equal(json_object_array_length(at(json, "process/args")), 1);
	assert_true(holds(at(json, "process/args"), "/.benchmon/holder"));
	assert_int_equal(int_at(json, "process/user/uid"), 0);
	/* Nothing runs outside for it. */
	assert_null(at(json, "hooks"));
	assert_null(at(json, "linux/devices"));
	assert_null(at(json, "linux/resources/devices"));
}

static void capabilities(void **state)
{
	static const char *const never[] = {
		"CAP_SYS_ADMIN",  "CAP_NET_ADMIN",       "CAP_BPF",       "CAP_PERFMON",
		"CAP_SYS_PTRACE", "CAP_SYS_MODULE",      "CAP_SYS_RAWIO", "CAP_NET_RAW",
		"CAP_MKNOD",      "CAP_DAC_READ_SEARCH", "CAP_SYS_BOOT",  "CAP_SYSLOG",
		"CAP_MAC_ADMIN",  "CAP_MAC_OVERRIDE",    "CAP_SYS_TIME",  "CAP_SYS_RESOURCE",
		"CAP_IPC_LOCK",   "CAP_LINUX_IMMUTABLE", "CAP_SYS_PACCT", "CAP_AUDIT_CONTROL",
	};
	autojson *json = written(&plain);

	(void)state;
	assert_non_null(at(json, "process/capabilities/bounding"));
	json_object_object_foreach(at(json, "process/capabilities"), set, list) {
		size_t count = json_object_array_length(list);

		for (size_t i = 0; i < COUNT(never); i++)
			if (holds(list, never[i]))
				fail_msg("%s has %s", set, never[i]);
		for (size_t i = 0; bm_capabilities[i]; i++)
			assert_true(holds(list, bm_capabilities[i]) && i < count);
	}
	assert_true(holds(at(json, "process/capabilities/bounding"), "CAP_CHOWN"));
}

static void namespaces(void **state)
{
	static const char *const types[] = { "pid",  "ipc",     "uts",   "mount",
					     "user", "network", "cgroup" };
	autojson *json = written(&plain);
	struct json_object *list = at(json, "linux/namespaces");

	(void)state;
	assert_int_equal(json_object_array_length(list), COUNT(types));
	for (size_t i = 0; i < COUNT(types); i++) {
		size_t found = 0;

		for (size_t j = 0; j < COUNT(types); j++) {
			struct json_object *ns = json_object_array_get_idx(list, j);

			found += !strcmp(string_at(ns, "type"), types[i]);
			/* A path would be a namespace that is there already. */
			assert_null(at(ns, "path"));
		}
		assert_int_equal(found, 1);
	}
}

static void ids(void **state)
{
	static const char *const maps[] = { "linux/uidMappings", "linux/gidMappings" };
	struct bm_bundle bundle = plain;

	(void)state;
	bundle.id_base = 0xfff00000;
	for (size_t i = 0; i < COUNT(maps); i++) {
		autojson *json = written(&bundle);
		struct json_object *map = at(json, maps[i]);

		assert_int_equal(json_object_array_length(map), 1);
		map = json_object_array_get_idx(map, 0);
		assert_int_equal(int_at(map, "containerID"), 0);
		assert_int_equal(int_at(map, "hostID"), 0xfff00000);
		assert_int_equal(int_at(map, "size"), 65536);
	}
}

static void mounts(void **state)
{
	static const char *const noexec[] = { "/proc", "/dev", "/dev/pts", "/dev/shm",
					      "/dev/mqueue" };
	autojson *json = written(&plain);
	struct json_object *list = at(json, "mounts"), *work = mount_at(json, "/work");

	(void)state;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *m = json_object_array_get_idx(list, i);

		assert_true(holds(at(m, "options"), "nosuid"));
		/* The scratch directory is the one thing that comes from outside. */
		assert_int_equal(holds(at(m, "options"), "bind"), m == work);
		assert_int_equal(!strcmp(string_at(m, "type"), "bind"), m == work);
		assert_false(holds(at(m, "options"), "rbind"));
	}
	for (size_t i = 0; i < COUNT(noexec); i++)
		assert_true(holds(at(mount_at(json, noexec[i]), "options"), "noexec"));
	assert_true(holds(at(mount_at(json, "/dev/pts"), "options"), "newinstance"));
	assert_string_equal(string_at(work, "source"), plain.scratch);
	assert_true(holds(at(work, "options"), "nodev"));
	assert_true(holds(at(json, "linux/maskedPaths"), "/proc/kcore"));
	assert_true(holds(at(json, "linux/maskedPaths"), "/proc/keys"));
	assert_true(holds(at(json, "linux/readonlyPaths"), "/proc/sys"));
	assert_true(holds(at(json, "linux/readonlyPaths"), "/proc/sysrq-trigger"));
}

static void limits(void **state)
{
	static const struct bm_limits cases[] = {
		{ 0 },
		{ .memory = 1 << 20 },
		{ .pids = 1 },
		{ .cpus = 1500 },
		{ .memory = 1ull << 40, .pids = 4096, .cpus = 10 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bm_bundle bundle = plain;
		const struct bm_limits *limit = &cases[i];
		struct json_object *memory, *pids, *cpu;
		autojson *json = NULL;

		bundle.limits = *limit;
		json = written(&bundle);
		memory = at(json, "linux/resources/memory");
		pids = at(json, "linux/resources/pids");
		cpu = at(json, "linux/resources/cpu");
		assert_int_equal(!memory, !limit->memory);
		assert_int_equal(!pids, !limit->pids);
		assert_int_equal(!cpu, !limit->cpus);
		assert_int_equal(memory ? int_at(memory, "limit") : 0, limit->memory);
		assert_int_equal(memory ? int_at(memory, "swap") : 0, limit->memory);
		assert_int_equal(pids ? int_at(pids, "limit") : 0, limit->pids);
		assert_int_equal(cpu ? int_at(cpu, "quota") : 0, limit->cpus * 100);
		assert_int_equal(cpu ? int_at(cpu, "period") : 100000, 100000);
	}
}

static void seccomp(void **state)
{
	autojson *json = written(&plain);
	struct json_object *list = at(json, "linux/seccomp/syscalls"), *names;
	size_t count = 0;

	(void)state;
	assert_string_equal(string_at(json, "linux/seccomp/defaultAction"), "SCMP_ACT_ALLOW");
	assert_true(holds(at(json, "linux/seccomp/architectures"), "SCMP_ARCH_X86_64"));
	assert_true(holds(at(json, "linux/seccomp/architectures"), "SCMP_ARCH_X86"));
	assert_true(holds(at(json, "linux/seccomp/architectures"), "SCMP_ARCH_X32"));
	/* User namespaces are made by clone's flags too, which clone3 keeps where no filter looks.
	 */
	assert_int_equal(json_object_array_length(list), 4);
	assert_true(holds(at(json_object_array_get_idx(list, 1), "names"), "unshare"));
	assert_int_equal(int_at(json_object_array_get_idx(list, 1), "errnoRet"), EPERM);
	assert_true(holds(at(json_object_array_get_idx(list, 2), "names"), "clone3"));
	assert_int_equal(int_at(json_object_array_get_idx(list, 2), "errnoRet"), ENOSYS);
	assert_true(holds(at(json_object_array_get_idx(list, 3), "names"), "clone"));
	assert_int_equal(json_object_array_length(at(json_object_array_get_idx(list, 3), "args")),
			 1);
	list = json_object_array_get_idx(list, 0);
	assert_string_equal(string_at(list, "action"), "SCMP_ACT_ERRNO");
	assert_null(at(list, "args"));
	names = at(list, "names");
	for (; bm_denied_syscalls[count]; count++)
		assert_true(holds(names, bm_denied_syscalls[count]));
	assert_int_equal(json_object_array_length(names), count);
}

/* exec: image */
static void image(void **state)
{
	static const char *const noexec[] = { "/work", "/tmp", "/dev/shm", "/dev", "/proc" };
	struct bm_bundle bundle = plain;
	autojson *own = written(&plain), *json = NULL;
	struct json_object *list;
	size_t denied = 0, personality = 0;

	(void)state;
	assert_false(json_object_get_boolean(at(own, "root/readonly")));
	assert_false(holds(at(mount_at(own, "/work"), "options"), "noexec"));
	bundle.image = true;
	json = written(&bundle);
	assert_true(json_object_get_boolean(at(json, "root/readonly")));
	for (size_t i = 0; i < COUNT(noexec); i++)
		assert_true(holds(at(mount_at(json, noexec[i]), "options"), "noexec"));
	assert_string_equal(string_at(mount_at(json, "/tmp"), "type"), "tmpfs");
	list = at(json, "linux/seccomp/syscalls");
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *rule = json_object_array_get_idx(list, i);

		denied += holds(at(rule, "names"), "memfd_create");
		personality += holds(at(rule, "names"), "personality");
		assert_string_equal(string_at(rule, "action"), "SCMP_ACT_ERRNO");
	}
	assert_int_equal(denied, 1);
	assert_int_equal(personality, BM_PERSONALITY_BITS - 1);
}

/* A path is a string, whatever it holds, and a shorter config leaves nothing of a longer one. */
static void text_is_quoted(void **state)
{
	struct bm_bundle odd = plain;
	autojson *json = NULL, *again = NULL;

	(void)state;
	odd.scratch = "/a\",\"b\":[\\\n\x01{}";
	odd.rootfs = "/\303\244\"";
	odd.limits.memory = 1 << 30;
	json = written(&odd);
	assert_string_equal(string_at(mount_at(json, "/work"), "source"), odd.scratch);
	assert_string_equal(string_at(json, "root/path"), odd.rootfs);
	again = written(&plain);
	assert_null(at(again, "linux/resources/memory"));
}

static void not_written(void **state)
{
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_bundle_write(-1, &plain, &err), -EBADF);
	assert_non_null(strstr(err.message, "config.json"));
}

/* --- the filter itself ----------------------------------------------------------------------- */

static void denied_names(void **state)
{
	static const char *const always[] = {
		"mount",
		"umount2",
		"move_mount",
		"open_tree",
		"mount_setattr",
		"pivot_root",
		"bpf",
		"perf_event_open",
		"keyctl",
		"setns",
		"io_uring_setup",
		"userfaultfd",
		"kexec_load",
		"finit_module",
		"open_by_handle_at",
		"io_uring_enter",
		"init_module",
		"io_uring_register",
		"kexec_file_load",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(always); i++) {
		size_t found = 0;

		for (size_t j = 0; bm_denied_syscalls[j]; j++)
			found += !strcmp(bm_denied_syscalls[j], always[i]);
		if (found != 1)
			fail_msg("%s: %zu times", always[i], found);
	}
	for (size_t i = 0; bm_denied_in_image[i]; i++)
		if (seccomp_syscall_resolve_name(bm_denied_in_image[i]) == __NR_SCMP_ERROR)
			fail_msg("%s is no system call", bm_denied_in_image[i]);
	for (size_t i = 0; bm_denied_syscalls[i]; i++)
		if (seccomp_syscall_resolve_name(bm_denied_syscalls[i]) == __NR_SCMP_ERROR)
			fail_msg("%s is no system call", bm_denied_syscalls[i]);
}

/* Of the tests below. */
static bool for_image;

/* The exit status of a child that puts the filter on itself, if asked to, and runs fn. */
static int in_child(bool filtered, int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		setsid();
		if (filtered && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
				 bm_syscalls_deny(for_image, false, NULL) < 0))
			_exit(99);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int refused_number(int number)
{
	return syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 && errno == EPERM;
}

/* 0, or the place in the table of one that is not denied. Its arguments are never right. */
static int all_denied(void)
{
	for (int i = 0; bm_denied_syscalls[i]; i++) {
		int number = seccomp_syscall_resolve_name(bm_denied_syscalls[i]);

		if (number >= 0 && !refused_number(number))
			return i + 1;
	}
	return 0;
}

/* What any user may call: 0 if all of them work, so that "denied" means the filter. */
static int some_work(void)
{
	if (refused_number(SYS_keyctl) || syscall(SYS_unshare, 0) < 0)
		return 1;
	return refused_number(SYS_process_vm_writev) || refused_number(SYS_kcmp);
}

static int others_work(void)
{
	autoclose fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char byte;
	pid_t pid;

	if (getpid() != syscall(SYS_getpid) || fd < 0 || read(fd, &byte, 1) != 1)
		return 1;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 2;
	pid = fork();
	if (!pid)
		_exit(0);
	return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 3;
}

static void filter(void **state)
{
	int i;

	(void)state;
	assert_int_equal(in_child(false, some_work), 0);
	i = in_child(true, all_denied);
	if (i)
		fail_msg("%d: %s", i, i < 99 ? bm_denied_syscalls[i - 1] : "no filter");
	assert_int_equal(in_child(true, others_work), 0);
}

/* 0 when memfds and every personality that implies execution are denied, and no other. */
static int image_denied(void)
{
	static const unsigned int allowed[] = { 0, 0xffffffff, ADDR_NO_RANDOMIZE };

	if (syscall(SYS_memfd_create, "x", 0) >= 0 || errno != EPERM)
		return 1;
	for (size_t i = 0; i < COUNT(allowed); i++)
		if (syscall(SYS_personality, allowed[i]) < 0)
			return 2;
	/* The upper half of the register is nothing to the kernel. */
	if (syscall(SYS_personality, 1ul << 32 | READ_IMPLIES_EXEC) >= 0 || errno != EPERM)
		return 3;
	for (unsigned int bit = 0; bit < 32; bit++) {
		unsigned int all_but = ~(1u << bit);

		if (syscall(SYS_personality, READ_IMPLIES_EXEC | 1u << bit) >= 0 || errno != EPERM)
			return 4;
		if (all_but & READ_IMPLIES_EXEC &&
		    (syscall(SYS_personality, all_but) >= 0 || errno != EPERM))
			return 5;
	}
	return 0;
}

/* Denied in the other mode, and for want of a filter, nothing of that is. */
static int image_works(void)
{
	return syscall(SYS_memfd_create, "x", 0) >= 0 &&
			       syscall(SYS_personality, READ_IMPLIES_EXEC) >= 0
		       ? 0
		       : 1;
}

static void filter_of_image(void **state)
{
	int i;

	(void)state;
	assert_int_equal(in_child(false, image_works), 0);
	assert_int_equal(in_child(true, image_works), 0);
	for_image = true;
	i = in_child(true, all_denied);
	if (i)
		fail_msg("%d: not denied with exec: image", i);
	assert_int_equal(in_child(true, image_denied), 0);
	assert_int_equal(in_child(true, others_work), 0);
	for_image = false;
}

#ifdef __x86_64__
static long call32(long number)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(number), "b"(0L), "c"(0L), "d"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return r;
}

static int unshare_32_works(void)
{
	return call32(310) == 0 ? 0 : 1;
}

static int unshare_32_denied(void)
{
	return call32(310) == -EPERM && call32(20) == getpid() ? 0 : 1;
}

static int unshare_x32_denied(void)
{
	return syscall(0x40000000 | SYS_unshare, 0) < 0 && errno == EPERM ? 0 : 1;
}

/* The other two ways into the kernel. A kernel without 32-bit entries kills who tries one. */
static void filter_of_other_entries(void **state)
{
	(void)state;
	assert_int_equal(in_child(true, unshare_x32_denied), 0);
	if (in_child(false, unshare_32_works) == 0)
		assert_int_equal(in_child(true, unshare_32_denied), 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(basics, setup, teardown),
		cmocka_unit_test_setup_teardown(capabilities, setup, teardown),
		cmocka_unit_test_setup_teardown(namespaces, setup, teardown),
		cmocka_unit_test_setup_teardown(ids, setup, teardown),
		cmocka_unit_test_setup_teardown(mounts, setup, teardown),
		cmocka_unit_test_setup_teardown(limits, setup, teardown),
		cmocka_unit_test_setup_teardown(seccomp, setup, teardown),
		cmocka_unit_test_setup_teardown(text_is_quoted, setup, teardown),
		cmocka_unit_test(not_written),
		cmocka_unit_test(denied_names),
		cmocka_unit_test_setup_teardown(image, setup, teardown),
		cmocka_unit_test(filter),
		cmocka_unit_test(filter_of_image),
#ifdef __x86_64__
		cmocka_unit_test(filter_of_other_entries),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
