// SPDX-License-Identifier: GPL-2.0-only
/* What the daemon and its helpers give up is gone: tried in a child, and before that without. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/bpf.h>
#include <linux/capability.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "bench/box.h"
#include "bench/launcher.h"
#include "confine/caps.h"
#include "confine/confine.h"
#include "gatekeeperd/shrink.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define NEVER 99 /* no errno of ours: it was done */

/* Each does something harmless that works, or that fails for another reason than a filter. */
static long try_execve(void)
{
	char *argv[] = { (char *)(uintptr_t) "true", NULL }, *env[] = { NULL };

	return syscall(SYS_execve, "/no/such/program", argv, env);
}

static long try_execveat(void)
{
	return syscall(SYS_execveat, -1, "", NULL, NULL, 0);
}

static long try_vm_readv(void)
{
	return syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0);
}

static long try_module(void)
{
	return syscall(SYS_finit_module, -1, "", 0);
}

static long try_kexec(void)
{
	return syscall(SYS_kexec_load, 0, 17, NULL, ~0ul);
}

static long try_personality(void)
{
	return syscall(SYS_personality, 0xffffffff);
}

static long try_program(void)
{
	union bpf_attr attr = {};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static long try_next_program(void)
{
	union bpf_attr attr = { .start_id = ~0u };

	return syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr));
}

static long try_lookup(void)
{
	union bpf_attr attr = { .map_fd = ~0u };

	return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
}

static long try_clone3(void)
{
	return syscall(SYS_clone3, NULL, 0);
}

static long try_chroot(void)
{
	return syscall(SYS_chroot, "/no/such/directory");
}

static long try_setuid(void)
{
	return syscall(SYS_setresuid, -1, -1, -1);
}

static long try_nobody(void)
{
	return syscall(SYS_setresuid, 65534, 65534, 65534);
}

static long try_priority(void)
{
	return syscall(SYS_getpriority, PRIO_PROCESS, 0);
}

static long try_mount(void)
{
	return syscall(SYS_mount, NULL, "/no/such/directory", NULL, MS_REMOUNT, NULL);
}

static long try_open(void)
{
	return syscall(SYS_openat, AT_FDCWD, "/no/such/file", O_RDONLY);
}

static long try_unshare(void)
{
	return syscall(SYS_unshare, 0);
}

static long try_unshare_mounts(void)
{
	return syscall(SYS_unshare, CLONE_NEWNS);
}

static long try_setns(void)
{
	return syscall(SYS_setns, -1, 0);
}

static long try_listen(void)
{
	return syscall(SYS_listen, -1, 0);
}

static long try_socket(void)
{
	return syscall(SYS_socket, -1, 0, 0);
}

#ifdef __x86_64__
/* The entry of 32-bit programs, where 20 is getpid. */
static long try_other_entry(void)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	return result;
}
#endif

/* 0, the errno, or minus the signal that ended it. */
static int outcome(long (*call)(void), int (*confine)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		long r;

		if (confine && confine(arg) < 0)
			_exit(NEVER);
		r = call();
		_exit(r < 0 ? errno : 0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return -WTERMSIG(status);
	assert_int_not_equal(WEXITSTATUS(status), NEVER);
	return WEXITSTATUS(status);
}

static int as_daemon(void *arg)
{
	(void)arg;
	return daemon_filter(NULL);
}

enum want { DONE, MISSING, LETHAL };

static void check(const char *name, long (*call)(void), enum want want, int (*confine)(void *),
		  void *arg)
{
	int before = outcome(call, NULL, NULL), after = outcome(call, confine, arg);

	/* This kernel may be without modules: then the filter answers all the same. */
	if ((before == ENOSYS && want != LETHAL) || before < 0)
		fail_msg("%s: %d without any filter", name, before);
	if (want == DONE ? after != before : after != (want == LETHAL ? -SIGSYS : ENOSYS))
		fail_msg("%s: %d, and %d without the filter", name, after, before);
}

static void daemon_calls(void **state)
{
	static const struct {
		const char *name;
		long (*call)(void);
		enum want want;
	} calls[] = {
		{ "execve", try_execve, LETHAL },
		{ "execveat", try_execveat, LETHAL },
		{ "process_vm_readv", try_vm_readv, LETHAL },
		{ "finit_module", try_module, LETHAL },
		{ "kexec_load", try_kexec, LETHAL },
		{ "personality", try_personality, LETHAL },
		{ "bpf, to load", try_program, LETHAL },
		{ "bpf, to list", try_next_program, MISSING },
		{ "clone3", try_clone3, MISSING },
		{ "chroot", try_chroot, MISSING },
		{ "setresuid", try_setuid, MISSING },
		{ "setresuid to nobody", try_nobody, DONE },
		{ "getpriority", try_priority, MISSING },
		{ "bpf, to look up", try_lookup, DONE },
		{ "mount", try_mount, DONE },
		{ "openat", try_open, DONE },
		{ "setns", try_setns, DONE },
		{ "listen", try_listen, DONE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++)
		check(calls[i].name, calls[i].call, calls[i].want, as_daemon, NULL);
#ifdef __x86_64__
	if (outcome(try_other_entry, NULL, NULL) >= 0)
		assert_int_equal(outcome(try_other_entry, as_daemon, NULL), -SIGSYS);
#endif
}

static int as_helper(void *arg)
{
	return bm_confine(*(enum bm_confinement *)arg, NULL);
}

static void helper_calls(void **state)
{
	enum bm_confinement what;
	static const struct {
		const char *name;
		long (*call)(void);
		enum want want[BM_CONFINE_MAX];
	} calls[] = {
#define WANT(look, mount, network, user, scan, read, resolve, listen)                              \
	{ [BM_CONFINE_LOOK] = look,       [BM_CONFINE_MOUNT] = mount,  [BM_CONFINE_PIN] = mount,   \
	  [BM_CONFINE_NETWORK] = network, [BM_CONFINE_USER] = user,    [BM_CONFINE_SCAN] = scan,   \
	  [BM_CONFINE_READ] = read,       [BM_CONFINE_OUTPUTS] = read, [BM_CONFINE_ACCESS] = read, \
	  [BM_CONFINE_RESOLVE] = resolve, [BM_CONFINE_LISTEN] = listen }
#ifndef __SANITIZE_ADDRESS__
		{ "openat", try_open,
		  WANT(DONE, DONE, DONE, MISSING, DONE, MISSING, DONE, MISSING) },
#endif
		{ "setns", try_setns,
		  WANT(DONE, DONE, DONE, MISSING, MISSING, MISSING, MISSING, MISSING) },
		{ "mount", try_mount,
		  WANT(MISSING, DONE, MISSING, MISSING, MISSING, MISSING, MISSING, MISSING) },
		{ "socket", try_socket,
		  WANT(MISSING, MISSING, DONE, MISSING, DONE, MISSING, DONE, MISSING) },
		{ "listen", try_listen,
		  WANT(MISSING, MISSING, DONE, MISSING, MISSING, MISSING, MISSING, DONE) },
		{ "unshare", try_unshare,
		  WANT(MISSING, MISSING, MISSING, DONE, MISSING, MISSING, MISSING, MISSING) },
		{ "bpf", try_lookup,
		  WANT(MISSING, MISSING, MISSING, MISSING, DONE, MISSING, MISSING, MISSING) },
		{ "execve", try_execve,
		  WANT(LETHAL, LETHAL, LETHAL, LETHAL, LETHAL, LETHAL, LETHAL, LETHAL) },
	};

	(void)state;
	for (what = 0; what < BM_CONFINE_MAX; what++)
		for (size_t i = 0; i < COUNT(calls); i++)
			check(calls[i].name, calls[i].call, calls[i].want[what], as_helper, &what);
	for (what = 0; what < BM_CONFINE_MAX; what++)
		check("unshare of mounts", try_unshare_mounts,
		      what == BM_CONFINE_PIN || what == BM_CONFINE_USER ? DONE : MISSING, as_helper,
		      &what);
}

static int confined(void *arg, int *ret_fd, struct bm_error *err)
{
	(void)ret_fd;
	return bm_confine(*(enum bm_confinement *)arg, err);
}

static void helpers_still_answer(void **state)
{
	(void)state;
	for (enum bm_confinement what = 0; what < BM_CONFINE_MAX; what++) {
		struct bm_error err = {};

		assert_int_equal(bm_helper(confined, &what, NULL, &err), 0);
	}
}

static int keep_one(void *arg, int *ret_fd, struct bm_error *err)
{
	uint64_t before = bm_caps_permitted();
	int r = bm_caps_keep(BM_CAP(KILL) | BM_CAP(CHOWN), err);

	(void)arg;
	(void)ret_fd;
	if (r < 0)
		return r;
	if (!before)
		return 1;
	return bm_caps_permitted() == (before & (BM_CAP(KILL) | BM_CAP(CHOWN))) ? 1 : -EINVAL;
}

static void capabilities(void **state)
{
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_helper(keep_one, NULL, NULL, &err), 1);
}

static char place[] = "/tmp/benchmon-shrink-XXXXXX";

/* A program named crun that tells what it was started with, found by the launcher alone. */
static int launcher_up(void **state)
{
	autofree char *path = strdup(getenv("PATH")), *with = NULL;
	struct bm_error err = {};
	char crun[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(place));
	snprintf(crun, sizeof(crun), "%s/crun", place);
	assert_int_equal(bm_write_file(AT_FDCWD, crun, O_CREAT | O_EXCL, 0755,
				       "#!/bin/sh\necho \"$*\"\ncat /proc/self/status\n"),
			 0);
	assert_true(asprintf(&with, "%s:%s", place, path) > 0);
	setenv("PATH", with, 1);
	assert_int_equal(bm_launcher_start(&fd, &err), 0);
	setenv("PATH", path, 1);
	return 0;
}

static int launcher_down(void **state)
{
	char crun[64];

	(void)state;
	snprintf(crun, sizeof(crun), "%s/crun", place);
	unlink(crun);
	return rmdir(place);
}

static uint64_t number(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	assert_non_null(line);
	return strtoull(line + strlen(key), NULL, 16);
}

static void launches_crun(void **state)
{
	static const char *const args[] = { "/root dir", "state", "a b", NULL };
	autofree char *out = NULL;
	int status = -1;

	(void)state;
	assert_int_equal(bm_launch_run(BM_LAUNCH_CRUN, args, 10000, &status, &out, NULL), 0);
	assert_int_equal(status, 0);
	assert_ptr_equal(strstr(out, "--cgroup-manager=cgroupfs --root /root dir state a b\n"),
			 out);
	/* Here more may have been missing before. */
	assert_int_equal(number(out, "CapBnd:") & ~bm_launcher_capabilities, 0);
	assert_int_equal(number(out, "NoNewPrivs:"), 1);
	assert_int_equal(number(out, "Seccomp:"), 2);
}

static void launches_nothing_else(void **state)
{
	static const struct {
		enum bm_launch what;
		const char *args[4];
	} orders[] = {
		{ BM_LAUNCH_CRUN, { "/root", "exec", "a", "sh" } },
		{ BM_LAUNCH_CRUN, { "/root", "run", NULL } },
		{ BM_LAUNCH_CRUN, { "/root", NULL } },
		{ BM_LAUNCH_REMOVE, { place, NULL } },
		{ BM_LAUNCH_REMOVE, { BM_BOX_RUN, NULL } },
		{ BM_LAUNCH_REMOVE, { BM_BOX_RUN "/../../../tmp", NULL } },
		{ BM_LAUNCH_REMOVE, { BM_BOX_RUN "/a/..", NULL } },
		{ BM_LAUNCH_REMOVE, { BM_BOX_RUN "/a", place, NULL } },
		{ BM_LAUNCH_EXEC, { "x", NULL } },
		{ BM_LAUNCH_MAX, { "x", NULL } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(orders); i++) {
		const char *args[5] = {};
		autofree char *out = NULL;
		int status = -1;

		memcpy(args, orders[i].args, sizeof(orders[i].args));
		assert_int_equal(bm_launch_run(orders[i].what, args, 10000, &status, &out, NULL),
				 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 126);
		assert_string_equal(out, "");
		assert_int_equal(access(place, F_OK), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(daemon_calls),         cmocka_unit_test(helper_calls),
		cmocka_unit_test(helpers_still_answer), cmocka_unit_test(capabilities),
		cmocka_unit_test(launches_crun),        cmocka_unit_test(launches_nothing_else),
	};

	return cmocka_run_group_tests(tests, launcher_up, launcher_down);
}
