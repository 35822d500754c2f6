// SPDX-License-Identifier: GPL-2.0-only
/* Ways to open a file. What opens nothing is in names.c, meta.c and fds.c. */
#include "payload.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/openat2.h>

static const struct {
	const char *name;
	int flags;
} modes[] = {
	{ "r", O_RDONLY },
	{ "w", O_WRONLY },
	{ "rw", O_RDWR },
	{ "neither", O_WRONLY | O_RDWR },
	{ "append", O_WRONLY | O_APPEND },
	{ "trunc", O_WRONLY | O_TRUNC },
	{ "rtrunc", O_RDONLY | O_TRUNC },
	{ "creat", O_RDWR | O_CREAT },
	{ "rcreat", O_RDONLY | O_CREAT },
	{ "new", O_WRONLY | O_CREAT | O_EXCL },
	{ "dir", O_RDONLY | O_DIRECTORY },
	{ "tmp", O_RDWR | O_TMPFILE },
	{ "nonblock", O_RDONLY | O_NONBLOCK },
	{ "noatime", O_RDONLY | O_NOATIME },
};

static int flags_of(const char *mode)
{
	for (size_t i = 0; mode && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, mode))
			return modes[i].flags;
	return O_RDONLY;
}

int probe_open(char **args)
{
	return opened((int)syscall(SYS_open, args[0], flags_of(args[1]), 0666));
}

/* tmp: O_TMPFILE in the directory, then linkat(2) to PATH. */
int probe_setid(char **args)
{
	mode_t mode = (mode_t)strtoul(args[2], NULL, 8);
	char path[64], *slash = strrchr(args[0], '/');
	struct stat st;
	int fd;

	umask(0);
	if (!strcmp(args[1], "creat")) {
		fd = open(args[0], O_WRONLY | O_CREAT | O_EXCL, mode);
	} else {
		*slash = '\0';
		fd = open(args[0], O_WRONLY | O_TMPFILE, mode);
		*slash = '/';
	}
	if (fd < 0)
		return errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!strcmp(args[1], "tmp") &&
	    linkat(AT_FDCWD, path, AT_FDCWD, args[0], AT_SYMLINK_FOLLOW) < 0)
		return errno;
	return stat(args[0], &st) < 0         ? errno
	       : (st.st_mode & 07777) == mode ? 0
					      : setup("it has another mode");
}

int probe_openat(char **args)
{
	int dir = open(args[0], O_PATH | O_DIRECTORY);

	return dir < 0 ? setup(args[0]) : opened(openat(dir, args[1], O_RDONLY));
}

int probe_openat2(char **args)
{
	struct open_how how = { .flags = (uint64_t)flags_of(args[1]),
				.resolve = RESOLVE_NO_SYMLINKS };

	return opened((int)syscall(SYS_openat2, AT_FDCWD, args[0], &how, sizeof(how)));
}

int probe_creat(char **args)
{
	return opened(creat(args[0], 0666));
}

int probe_fopen(char **args)
{
	return opened(open(args[0], O_RDONLY | O_LARGEFILE | O_NOFOLLOW | O_CLOEXEC));
}

int probe_reopen(char **args)
{
	int fd = open(args[0], O_PATH);
	char path[64];

	if (fd < 0)
		return setup(args[0]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return opened(open(path, flags_of(args[1])));
}

int probe_getdents(char **args)
{
	char buf[4096];
	int fd = open(args[0], O_RDONLY | O_DIRECTORY);

	return outcome(fd < 0 ? -1 : syscall(SYS_getdents64, fd, buf, sizeof(buf)));
}

/* By a path relative to a working directory that was reached, not opened. */
int probe_chdir(char **args)
{
	return chdir(args[0]) < 0 ? setup(args[0]) : opened(open(args[1], O_RDONLY));
}

static void *open_in_thread(void *args)
{
	return (void *)(intptr_t)probe_open(args);
}

int probe_thread(char **args)
{
	pthread_t thread;
	void *status;

	if (pthread_create(&thread, NULL, open_in_thread, args) || pthread_join(thread, &status))
		return setup("thread");
	return (int)(intptr_t)status;
}

static int fork_again(char **args)
{
	return in_child(probe_open, args);
}

int probe_fork(char **args)
{
	return in_child(fork_again, args);
}

int probe_vfork(char **args)
{
	volatile int status = SETUP;
	pid_t pid = vfork();

	if (pid == 0) {
		int fd = open(args[0], O_RDONLY);

		status = fd < 0 ? errno : 0;
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		return setup("vfork");
	return status;
}

int probe_open32(char **args)
{
	char *path = low_string(args[0]);
	long r = path ? call32(5, (long)path, O_RDONLY, 0) : 0;

	return path ? (r < 0 ? (int)-r : 0) : setup("mmap");
}

int probe_openat32(char **args)
{
	char *path = low_string(args[0]);
	long r = path ? call32(295, AT_FDCWD, (long)path, O_RDONLY) : 0;

	return path ? (r < 0 ? (int)-r : 0) : setup("mmap");
}

int probe_handle(char **args)
{
	struct {
		struct file_handle head;
		unsigned char bytes[MAX_HANDLE_SZ];
	} handle = { .head.handle_bytes = MAX_HANDLE_SZ };
	int mount_id, dir;

	if (name_to_handle_at(AT_FDCWD, args[0], &handle.head, &mount_id, 0) < 0)
		return setup("name_to_handle_at");
	/* Any file of that file system names it; its own descriptor, if need be O_PATH. */
	dir = open(args[1], O_RDONLY);
	if (dir < 0)
		dir = open(args[1], O_PATH);
	return dir < 0 ? setup(args[1]) : opened(open_by_handle_at(dir, &handle.head, O_RDONLY));
}

/* A name that others exempt. */
int probe_named(char **args)
{
	prctl(PR_SET_NAME, args[0]);
	return probe_open(args + 1);
}

/* The Bench's own memory: allowed everywhere. */
int probe_memfd(char **args)
{
	int fd = memfd_create("own", 0);
	char path[64];

	(void)args;
	if (fd < 0)
		return errno;
	if (write(fd, "x", 1) != 1)
		return setup("write");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return opened(open(path, O_RDWR));
}

struct exchange {
	const char *link, *good, *bad;
	volatile bool stop;
};

static void *exchange_links(void *arg)
{
	struct exchange *x = arg;
	char made[512];

	snprintf(made, sizeof(made), "%s.new", x->link);
	for (bool good = true; !x->stop; good = !good)
		if (symlink(good ? x->good : x->bad, made) == 0)
			rename(made, x->link);
	unlink(x->link);
	return NULL;
}

/* LINK leads to GOOD and BAD by turns while it is opened; 0 when it ever showed BAD's inode. */
int probe_exchange(char **args)
{
	struct exchange x = { args[0], args[1], args[2], false };
	int status = EACCES, good = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, exchange_links, &x))
		return setup("thread");
	for (int i = 0; i < 2000 && status; i++) {
		int fd = open(x.link, O_RDONLY);
		char path[64], target[512] = "";

		if (fd < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) < 0)
			return setup("readlink");
		if (!strcmp(target, x.bad))
			status = 0;
		good++;
		close(fd);
	}
	x.stop = true;
	pthread_join(thread, NULL);
	return status && !good ? setup("the good one was never opened") : status;
}
