// SPDX-License-Identifier: GPL-2.0-only
/* Ways to execute a file. Each tries it in a child, whose exit status proves that it ran. */
#include "payload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const ok_argv[] = { "payload", "ok", NULL };
static char *const no_env[] = { NULL };

int probe_ok(char **args)
{
	(void)args;
	return RAN;
}

/* Runs what returns only when it failed to execute. */
static int executed(probe_fn *execute, char **args)
{
	int status = in_child(execute, args);

	return status == RAN ? 0 : status ? status : setup("it ran something else");
}

static int do_execve(char **args)
{
	execve(args[0], ok_argv, no_env);
	return errno;
}

int probe_execve(char **args)
{
	return executed(do_execve, args);
}

static int do_execas(char **args)
{
	char *const argv[] = { args[0], args[1], NULL };

	execve(args[0], argv, no_env);
	return errno;
}

/* A program of somebody else's: that it ran, its success says. */
int probe_execas(char **args)
{
	return in_child(do_execas, args);
}

static int do_execveat(char **args)
{
	int fd = open(args[0], O_RDONLY);

	if (fd < 0)
		return setup(args[0]);
	syscall(SYS_execveat, fd, "", ok_argv, no_env, AT_EMPTY_PATH);
	return errno;
}

int probe_execveat(char **args)
{
	return executed(do_execveat, args);
}

static int do_opathexec(char **args)
{
	int fd = open(args[0], O_PATH);

	if (fd < 0)
		return setup(args[0]);
	syscall(SYS_execveat, fd, "", ok_argv, no_env, AT_EMPTY_PATH);
	return errno;
}

int probe_opathexec(char **args)
{
	return executed(do_opathexec, args);
}

static int do_fexec(char **args)
{
	int fd = open(args[0], O_RDONLY);
	char path[64];

	if (fd < 0)
		return setup(args[0]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	execve(path, ok_argv, no_env);
	return errno;
}

int probe_fexec(char **args)
{
	return executed(do_fexec, args);
}

int probe_vforkexec(char **args)
{
	volatile int failed = 0;
	pid_t pid = vfork();
	int status;

	if (pid == 0) {
		execve(args[0], ok_argv, no_env);
		failed = errno;
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return setup("vfork");
	return failed ? failed : WEXITSTATUS(status) == RAN ? 0 : SETUP;
}

static int do_execve32(char **args)
{
	uint32_t *argv = (uint32_t *)low_string(""), *env = (uint32_t *)low_string("");
	char *path = low_string(args[0]), *ok = low_string("ok");

	if (!path || !ok || !argv || !env)
		return setup("mmap");
	argv[0] = (uint32_t)(uintptr_t)path;
	argv[1] = (uint32_t)(uintptr_t)ok;
	return (int)-call32(11, (long)path, (long)argv, (long)env);
}

int probe_execve32(char **args)
{
	return executed(do_execve32, args);
}

/* PATH is a shell. ld.so says EACCES only in words, and ends with 127. */
static int do_ldso(char **args)
{
	char *argv[] = { args[0], args[1], "-c", "exit 77", NULL };

	close(STDERR_FILENO);
	execve(args[0], argv, no_env);
	return errno;
}

int probe_ldso(char **args)
{
	int status = in_child(do_ldso, args);

	return status == RAN ? 0 : status == 127 ? EACCES : status;
}

static int copy(const char *from, int to)
{
	int fd = open(from, O_RDONLY);
	char buf[65536];
	ssize_t n;

	if (fd < 0 || to < 0)
		return -1;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			return -1;
	close(fd);
	return n < 0 ? -1 : 0;
}

static int copy_to(const char *from, const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	int r = copy(from, fd);

	close(fd);
	return r;
}

int probe_copyexec(char **args)
{
	return copy_to(args[0], args[1]) < 0 ? setup("copy") : executed(do_execve, args + 1);
}

int probe_linkexec(char **args)
{
	return link(args[0], args[1]) < 0 && errno != EEXIST ? setup("link")
							     : executed(do_execve, args + 1);
}

int probe_renameexec(char **args)
{
	char made[512];

	snprintf(made, sizeof(made), "%s.new", args[1]);
	if (copy_to(args[0], made) < 0 || rename(made, args[1]) < 0)
		return setup("copy and rename");
	return executed(do_execve, args + 1);
}

static int do_memfdexec(char **args)
{
	int fd = memfd_create("own", MFD_CLOEXEC);

	if (copy(args[0], fd) < 0)
		return setup("copy");
	syscall(SYS_execveat, fd, "", ok_argv, no_env, AT_EMPTY_PATH);
	return errno;
}

int probe_memfdexec(char **args)
{
	return executed(do_memfdexec, args);
}
