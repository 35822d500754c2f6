// SPDX-License-Identifier: GPL-2.0-only
/* What would get a process out of its Bench, or into another one's. */
#include "payload.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/perf_event.h>

int probe_kill(char **args)
{
	return outcome(kill(atoi(args[0]), atoi(args[1])));
}

int probe_tgkill(char **args)
{
	return outcome(syscall(SYS_tgkill, atoi(args[0]), atoi(args[0]), atoi(args[1])));
}

int probe_pidfd_kill(char **args)
{
	int fd = (int)syscall(SYS_pidfd_open, atoi(args[0]), 0);

	return fd < 0 ? setup("pidfd_open")
		      : outcome(syscall(SYS_pidfd_send_signal, fd, atoi(args[1]), NULL, 0));
}

int probe_queue(char **args)
{
	siginfo_t info = { .si_code = SI_QUEUE };

	info.si_pid = getpid();
	return outcome(syscall(SYS_rt_sigqueueinfo, atoi(args[0]), atoi(args[1]), &info));
}

static int attach(enum __ptrace_request how, pid_t pid)
{
	if (ptrace(how, pid, NULL, NULL) < 0)
		return errno;
	if (how == PTRACE_ATTACH)
		waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return 0;
}

int probe_ptrace(char **args)
{
	return attach(PTRACE_ATTACH, atoi(args[0]));
}

int probe_seize(char **args)
{
	return attach(PTRACE_SEIZE, atoi(args[0]));
}

int probe_vmread(char **args)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)strtoul(args[1], NULL, 0), 1 };

	return outcome(process_vm_readv(atoi(args[0]), &to, 1, &from, 1, 0));
}

int probe_getfd(char **args)
{
	int fd = (int)syscall(SYS_pidfd_open, atoi(args[0]), 0);

	return fd < 0 ? setup("pidfd_open")
		      : outcome(syscall(SYS_pidfd_getfd, fd, atoi(args[1]), 0));
}

int probe_mount(char **args)
{
	(void)args;
	return outcome(mount("none", "/mnt", "tmpfs", 0, NULL));
}

int probe_umount(char **args)
{
	return outcome(umount2(args[0], MNT_DETACH));
}

int probe_opentree(char **args)
{
	return outcome(syscall(SYS_open_tree, AT_FDCWD, args[0], OPEN_TREE_CLONE));
}

int probe_fsopen(char **args)
{
	(void)args;
	return outcome(syscall(SYS_fsopen, "tmpfs", 0));
}

int probe_bpf(char **args)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
	};

	(void)args;
	return outcome(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

int probe_unshare(char **args)
{
	(void)args;
	return outcome(unshare(CLONE_NEWUSER));
}

int probe_newuser(char **args)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	(void)args;
	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

int probe_setns(char **args)
{
	int fd = open(args[0], O_RDONLY);

	return fd < 0 ? setup(args[0]) : outcome(setns(fd, 0));
}

int probe_mknod(char **args)
{
	return outcome(mknod(args[0], S_IFBLK | 0666, makedev(7, 0)));
}

int probe_perf(char **args)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.exclude_kernel = 1,
	};

	(void)args;
	return outcome(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

int probe_keyctl(char **args)
{
	(void)args;
	return outcome(syscall(SYS_add_key, "user", "attack", "x", 1, -2 /* process keyring */));
}

int probe_module(char **args)
{
	(void)args;
	return outcome(syscall(SYS_init_module, "", 0, ""));
}
