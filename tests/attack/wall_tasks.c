// SPDX-License-Identifier: GPL-2.0-only
/* What one process may do to another, or learn of it, other than by a signal. */
#include "payload.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL(nr, a, b, c, d, e) outcome(door(nr, a, b, c, d, e, 0))

static int trace(long how, char **args)
{
	pid_t pid = number(args[0]);

	if (door(SYS_ptrace, how, pid, 0, 0, 0, 0) < 0)
		return errno;
	if (how == PTRACE_ATTACH)
		waitpid(pid, NULL, __WALL);
	else
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return 0;
}

static int way_attach(char **args)
{
	return trace(PTRACE_ATTACH, args);
}

static int way_seize(char **args)
{
	return trace(PTRACE_SEIZE, args);
}

/* The first bytes of this same program. */
#define TEXT 0x400000

static int vm(bool writes, pid_t pid)
{
	static char bytes[4];
	struct iovec to = { bytes, 4 }, from = { (void *)TEXT, 4 };

	if (!writes)
		return outcome(process_vm_readv(pid, &to, 1, &from, 1, 0));
	/* Its text can't be written: being asked that is being let through. */
	return past(process_vm_writev(pid, &to, 1, &from, 1, 0), EFAULT);
}

static int way_vmread(char **args)
{
	return vm(false, number(args[0]));
}

static int way_vmwrite(char **args)
{
	return vm(true, number(args[0]));
}

static int pidfd(char **args)
{
	return (int)syscall(SYS_pidfd_open, number(args[0]), 0);
}

static int way_getfd(char **args)
{
	int fd = pidfd(args);

	return fd < 0 ? errno : CALL(SYS_pidfd_getfd, fd, 0, 0, 0, 0);
}

static int way_madvise(char **args)
{
	struct iovec range = { (void *)TEXT, 4096 };
	int fd = pidfd(args);

	return fd < 0 ? errno
		      : outcome(syscall(SYS_process_madvise, fd, &range, 1, MADV_WILLNEED, 0));
}

static int way_kcmp(char **args)
{
	return CALL(SYS_kcmp, getpid(), number(args[0]), 1 /* VM */, 0, 0);
}

static int way_robust(char **args)
{
	static long head, size;

	return CALL(SYS_get_robust_list, number(args[0]), &head, &size, 0, 0);
}

/* 6.11: its namespaces by its pidfd. */
static int way_namespace(char **args)
{
	int fd = pidfd(args);

	return fd < 0 ? errno : outcome(ioctl(fd, _IO(0xff, 4) /* net */, 0));
}

/* A child of whoever made this process: the runtime, the daemon. */
static int way_parent(char **args)
{
	long pid = syscall(SYS_clone, 0x8000 /* CLONE_PARENT */, 0, 0, 0, 0);

	(void)args;
	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

static int way_getlimit(char **args)
{
	static uint64_t limit[2];

	return CALL(SYS_prlimit64, number(args[0]), RLIMIT_CPU, 0, limit, 0);
}

/* What it is already. */
static int way_setlimit(char **args)
{
	static uint64_t limit[2] = { RLIM_INFINITY, RLIM_INFINITY };

	return CALL(SYS_prlimit64, number(args[0]), RLIMIT_CPU, limit, 0, 0);
}

static int way_nice(char **args)
{
	return CALL(SYS_setpriority, PRIO_PROCESS, number(args[0]), 0, 0, 0);
}

static int way_nice_group(char **args)
{
	return CALL(SYS_setpriority, PRIO_PGRP, number(args[0]), 0, 0, 0);
}

static int way_ioprio_set(char **args)
{
	return CALL(SYS_ioprio_set, 1, number(args[0]), 2 << 13 | 4, 0, 0);
}

static int way_ioprio_group(char **args)
{
	return CALL(SYS_ioprio_set, 2, number(args[0]), 2 << 13 | 4, 0, 0);
}

static int way_ioprio_get(char **args)
{
	return CALL(SYS_ioprio_get, 1, number(args[0]), 0, 0, 0);
}

static unsigned long mask[16];

static int way_setaffinity(char **args)
{
	memset(mask, 0xff, sizeof(mask));
	return CALL(SYS_sched_setaffinity, number(args[0]), sizeof(mask), mask, 0, 0);
}

static int way_getaffinity(char **args)
{
	return CALL(SYS_sched_getaffinity, number(args[0]), sizeof(mask), mask, 0, 0);
}

static int param[4];

static int way_setscheduler(char **args)
{
	return CALL(SYS_sched_setscheduler, number(args[0]), SCHED_OTHER, param, 0, 0);
}

static int way_getscheduler(char **args)
{
	return CALL(SYS_sched_getscheduler, number(args[0]), 0, 0, 0, 0);
}

static int way_setparam(char **args)
{
	return CALL(SYS_sched_setparam, number(args[0]), param, 0, 0, 0);
}

static int way_getparam(char **args)
{
	return CALL(SYS_sched_getparam, number(args[0]), param, 0, 0, 0);
}

static uint32_t attr[14];

static int way_setattr(char **args)
{
	attr[0] = sizeof(attr);
	return CALL(SYS_sched_setattr, number(args[0]), attr, 0, 0, 0);
}

static int way_getattr(char **args)
{
	return CALL(SYS_sched_getattr, number(args[0]), attr, sizeof(attr), 0, 0);
}

static int way_interval(char **args)
{
	static long interval[2];

	return CALL(SYS_sched_rr_get_interval, number(args[0]), interval, 0, 0, 0);
}

/* Asks where its pages are. */
static int way_movepages(char **args)
{
	static unsigned long page[2] = { TEXT };
	static int status;

	return CALL(SYS_move_pages, number(args[0]), 1, page, 0, &status);
}

static int way_migrate(char **args)
{
	static unsigned long from[2] = { 1 }, to[2] = { 1 };

	return CALL(SYS_migrate_pages, number(args[0]), 2, from, to, 0);
}

static int way_setpgid(char **args)
{
	return CALL(SYS_setpgid, number(args[0]), 0, 0, 0, 0);
}

static int way_getpgid(char **args)
{
	return CALL(SYS_getpgid, number(args[0]), 0, 0, 0, 0);
}

static int way_getsid(char **args)
{
	return CALL(SYS_getsid, number(args[0]), 0, 0, 0, 0);
}

/* FILE of its directory in proc [MODE] */
static int way_proc(char **args)
{
	char path[96];
	int flags = !args[2] ? O_RDONLY : !strcmp(args[2], "w") ? O_WRONLY : O_RDONLY | O_DIRECTORY;

	snprintf(path, sizeof(path), "/proc/%s/%s", args[0], args[1]);
	return outcome(open(path, flags));
}

/* Its own child, by every way that is refused to others. PID: of no use */
static int way_child(char **args)
{
	static const struct way *way;
	static const struct way tries[] = {
		{ "vmread", way_vmread },          { "getfd", way_getfd },
		{ "setlimit", way_setlimit },      { "nice", way_nice },
		{ "ioprio", way_ioprio_set },      { "affinity", way_setaffinity },
		{ "scheduler", way_setscheduler }, { "getscheduler", way_getscheduler },
		{ "getsid", way_getsid },          { "getpgid", way_getpgid },
		{ "setpgid", way_setpgid },        { "seize", way_seize },
	};
	char pid[16], *own[] = { pid, NULL };
	pid_t child = fork();
	int r = 0;

	(void)args;
	if (child == 0)
		for (;;)
			pause();
	snprintf(pid, sizeof(pid), "%d", child);
	for (way = tries; r == 0 && way < tries + sizeof(tries) / sizeof(tries[0]); way++) {
		r = way->fn(own);
		if (r)
			fprintf(stderr, "payload: %s: %s\n", way->name, strerror(r));
	}
	if (r == 0)
		r = outcome(kill(child, SIGKILL));
	waitpid(child, NULL, __WALL);
	return r;
}

static const struct way ways[] = {
	{ "attach", way_attach },
	{ "seize", way_seize },
	{ "vmread", way_vmread },
	{ "vmwrite", way_vmwrite },
	{ "getfd", way_getfd },
	{ "madvise", way_madvise },
	{ "kcmp", way_kcmp },
	{ "robust", way_robust },
	{ "namespace", way_namespace },
	{ "parent", way_parent },
	{ "getlimit", way_getlimit },
	{ "setlimit", way_setlimit },
	{ "nice", way_nice },
	{ "nice-group", way_nice_group },
	{ "ioprio-set", way_ioprio_set },
	{ "ioprio-group", way_ioprio_group },
	{ "ioprio-get", way_ioprio_get },
	{ "setaffinity", way_setaffinity },
	{ "getaffinity", way_getaffinity },
	{ "setscheduler", way_setscheduler },
	{ "getscheduler", way_getscheduler },
	{ "setparam", way_setparam },
	{ "getparam", way_getparam },
	{ "setattr", way_setattr },
	{ "getattr", way_getattr },
	{ "interval", way_interval },
	{ "movepages", way_movepages },
	{ "migrate", way_migrate },
	{ "setpgid", way_setpgid },
	{ "getpgid", way_getpgid },
	{ "getsid", way_getsid },
	{ "proc", way_proc },
	{ "child", way_child },
};

int probe_task(char **args)
{
	return by_way(ways, sizeof(ways) / sizeof(ways[0]), args);
}
