// SPDX-License-Identifier: GPL-2.0-only
/* What was opened before a revocation, tried after it: each way that a descriptor can be used. */
#include "payload.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/fs.h>

#ifndef SYS_preadv2
#define SYS_preadv2 327
#endif

/* f: r and w descriptors of DIR/f; d: of DIR; p: O_PATH of DIR; s: of DIR/sub, where we are. */
static int r, w, d, p, s, out, pipes[2], pair[2];
static char buf[256];

/* It was on its way when the grant ended. */
static long use_received(void)
{
	errno = receive_fd(pair[1]);
	return errno ? -1 : 0;
}

long read_by_aio(int fd, void *to)
{
	struct iocb cb = { .aio_fildes = (unsigned)fd,
			   .aio_lio_opcode = IOCB_CMD_PREAD,
			   .aio_buf = (uintptr_t)to,
			   .aio_nbytes = 1 };
	struct iocb *list[] = { &cb };
	struct io_event event;
	aio_context_t ctx = 0;

	if (syscall(SYS_io_setup, 1, &ctx) < 0 || syscall(SYS_io_submit, ctx, 1, list) < 0)
		return -1;
	if (syscall(SYS_io_getevents, ctx, 1, 1, &event, NULL) != 1)
		return -1;
	errno = event.res < 0 ? (int)-event.res : 0;
	return event.res < 0 ? -1 : 0;
}

static long use_aio(void)
{
	return read_by_aio(r, buf);
}

static long in_fork(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(pread(r, buf, 1, 0) < 0 ? errno : 0);
	waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

static long by_exec(void)
{
	char number[16];
	int status;
	pid_t pid = fork();

	snprintf(number, sizeof(number), "%d", r);
	if (pid == 0) {
		execl("/proc/self/exe", "payload", "read-fd", number, NULL);
		_exit(SETUP);
	}
	waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

static long map(int fd, int prot, int flags)
{
	void *at = mmap(NULL, 1, prot, flags, fd, 0);

	if (at == MAP_FAILED)
		return -1;
	munmap(at, 1);
	return 0;
}

static long reopen(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY);
	if (again >= 0)
		close(again);
	return again;
}

static long handle_of(int dir)
{
	union {
		struct file_handle head;
		char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .head.handle_bytes = MAX_HANDLE_SZ };
	int mount;

	return name_to_handle_at(dir, "f", &h.head, &mount, 0);
}

static long get_flags(int fd)
{
	int flags;

	return ioctl(fd, FS_IOC_GETFLAGS, &flags);
}

static long close_after(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd;
}

#define EACH(X)                                                                                    \
	X(read, read(r, buf, 1))                                                                   \
	X(pread, pread(r, buf, 1, 0))                                                              \
	X(readv, readv(r, &(struct iovec){ buf, 1 }, 1))                                           \
	X(preadv2, syscall(SYS_preadv2, r, &(struct iovec){ buf, 1 }, 1, 0, 0, 0))                 \
	X(write, write(w, "x", 1))                                                                 \
	X(pwrite, pwrite(w, "x", 1, 0))                                                            \
	X(writev, writev(w, &(struct iovec){ (char *)"x", 1 }, 1))                                 \
	X(getdents, syscall(SYS_getdents64, d, buf, sizeof(buf)))                                  \
	X(splice, splice(r, &(off64_t){ 0 }, pipes[1], NULL, 1, 0))                                \
	X(splice_to, splice(pipes[0], NULL, w, &(off64_t){ 0 }, 1, SPLICE_F_NONBLOCK))             \
	X(sendfile, sendfile(out, r, &(off_t){ 0 }, 1))                                            \
	X(copy_range, copy_file_range(r, &(off64_t){ 0 }, w, &(off64_t){ 4096 }, 1, 0))            \
	X(aio, use_aio())                                                                          \
	X(fallocate, fallocate(w, 0, 0, 4096))                                                     \
	X(ftruncate, ftruncate(w, 4096))                                                           \
	X(fchmod, fchmod(w, 0666))                                                                 \
	X(futimens, futimens(w, NULL))                                                             \
	X(fsetxattr, fsetxattr(w, "user.bm", "x", 1, 0))                                           \
	X(fgetxattr, fgetxattr(r, "user.bm", buf, sizeof(buf)))                                    \
	X(fstat, fstat(r, &(struct stat){}))                                                       \
	X(flock, flock(w, LOCK_EX | LOCK_NB))                                                      \
	X(ioctl, get_flags(r))                                                                     \
	X(map, map(r, PROT_READ, MAP_PRIVATE))                                                     \
	X(map_shared, map(w, PROT_READ | PROT_WRITE, MAP_SHARED))                                  \
	X(fork, in_fork())                                                                         \
	X(exec, by_exec())                                                                         \
	X(receive, use_received())                                                                 \
	X(reopen, reopen(r))                                                                       \
	X(reopen_path, reopen(p))                                                                  \
	X(openat, close_after(openat(d, "f", O_RDONLY)))                                           \
	X(openat_path, close_after(openat(p, "f", O_RDONLY)))                                      \
	X(creat_at, close_after(openat(d, "new", O_CREAT | O_WRONLY, 0666)))                       \
	X(opath_at, close_after(openat(d, "f", O_PATH)))                                           \
	X(unlinkat, unlinkat(d, "gone", 0))                                                        \
	X(access_at, faccessat(d, "f", F_OK, 0))                                                   \
	X(access_path, faccessat(p, "f", F_OK, 0))                                                 \
	X(access_sub, faccessat(s, "f", F_OK, 0))                                                  \
	X(access_cwd, access("f", F_OK))                                                           \
	X(stat_cwd, stat("f", &(struct stat){}))                                                   \
	X(open_cwd, close_after(open("f", O_RDONLY)))                                              \
	X(up_cwd, access("../f", F_OK))                                                            \
	X(handle, handle_of(d))                                                                    \
	X(chdir_up, chdir(".."))                                                                   \
	X(fchdir, fchdir(d))

/* DIR OUT: prints "holding"; after a line on stdin, for each way NAME ERRNO. */
int tool_held(char **args)
{
	char path[256], *line;
	aio_context_t idle = 0;

	snprintf(path, sizeof(path), "%s/f", args[0]);
	r = open(path, O_RDONLY);
	w = open(path, O_RDWR);
	d = open(args[0], O_RDONLY | O_DIRECTORY);
	p = open(args[0], O_PATH | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/sub", args[0]);
	s = open(path, O_PATH | O_DIRECTORY);
	out = open(args[1], O_RDWR | O_CREAT | O_TRUNC, 0666);
	/* Its ring is a mapping of a file too, and nobody's. */
	if (syscall(SYS_io_setup, 1, &idle) < 0)
		return setup("io_setup");
	if (r < 0 || w < 0 || d < 0 || p < 0 || s < 0 || out < 0 || chdir(path) < 0 ||
	    pipe(pipes) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
	    send_fd(pair[0], r) < 0 || write(pipes[1], "pp", 2) < 0 || write(out, "o", 1) < 0)
		return setup(args[0]);
	puts("holding");
	fflush(stdout);
	line = fgets(buf, sizeof(buf), stdin);
	if (!line)
		return setup("stdin");
#define X(name, call)                                                                              \
	errno = 0;                                                                                 \
	printf("%s %d\n", #name, (call) < 0 ? errno : 0);                                          \
	fflush(stdout);
	EACH(X)
#undef X
	return 0;
}

/* DIR: has a watch on it and below, and nothing else. */
int tool_watches(char **args)
{
	int fd = inotify_init1(0);
	char path[256];

	snprintf(path, sizeof(path), "%s/sub", args[0]);
	if (fd < 0 || inotify_add_watch(fd, path, IN_ALL_EVENTS) < 0)
		return setup(path);
	puts("holding");
	fflush(stdout);
	pause();
	return 0;
}

/* DIR: has a lock on its f. */
int tool_locks(char **args)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/f", args[0]);
	fd = open(path, O_RDWR);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return setup(path);
	puts("holding");
	fflush(stdout);
	pause();
	return 0;
}

/* FD: is read. */
int tool_read_fd(char **args)
{
	return outcome(pread(atoi(args[0]), buf, 1, 0));
}

static char **thread_args;

static void *maps(void *arg)
{
	exit(tool_maps(thread_args));
	return arg;
}

/* The leader ends: what the process maps is seen at another thread alone. */
int tool_maps_alone(char **args)
{
	pthread_t thread;

	thread_args = args;
	if (pthread_create(&thread, NULL, maps, NULL))
		return setup("thread");
	syscall(SYS_exit, 0);
	return 0;
}

/* PATH read|shared: maps it, says so, and goes on looking at it until it is killed. */
int tool_maps(char **args)
{
	bool shared = !strcmp(args[1], "shared");
	int fd = open(args[0], shared ? O_RDWR : O_RDONLY);
	volatile char *at = mmap(NULL, 1, shared ? PROT_READ | PROT_WRITE : PROT_READ,
				 shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		return setup(args[0]);
	close(fd);
	printf("mapped %c\n", *at);
	fflush(stdout);
	for (;;)
		(void)*at;
}

/* PATH: blocks reading it (a FIFO), then says what came of it. */
int tool_blocked(char **args)
{
	int fd = open(args[0], O_RDWR);
	ssize_t n;

	if (fd < 0)
		return setup(args[0]);
	puts("reading");
	fflush(stdout);
	n = read(fd, buf, sizeof(buf));
	printf("read %zd %d\n", n, n < 0 ? errno : 0);
	return 0;
}
