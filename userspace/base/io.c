// SPDX-License-Identifier: GPL-2.0-only
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define RUN_OUTPUT_MAX 65536

void bm_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

/* Appends what fd has now; 1 at end of file. Bytes above max are read and dropped. */
static int drain(int fd, char **buf, size_t *len, size_t max)
{
	char chunk[4096];
	ssize_t n = read(fd, chunk, sizeof(chunk));
	size_t take;
	char *grown;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return 1;
	take = *len + (size_t)n > max ? max - *len : (size_t)n;
	grown = realloc(*buf, *len + take + 1);
	if (!grown)
		return -ENOMEM;
	*buf = grown;
	memcpy(grown + *len, chunk, take);
	*len += take;
	grown[*len] = '\0';
	return 0;
}

int bm_read_fd(int fd, size_t max, char **ret, size_t *ret_len)
{
	autofree char *buf = calloc(1, 1);
	size_t len = 0;
	int r;

	if (!buf)
		return -ENOMEM;
	do {
		r = drain(fd, &buf, &len, max + 1);
	} while (r == 0 && len <= max);
	if (r < 0)
		return r;
	if (len > max)
		return -EFBIG;
	if (ret_len)
		*ret_len = len;
	*ret = TAKE_PTR(buf);
	return 0;
}

int bm_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_len)
{
	autoclose fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : bm_read_fd(fd, max, ret, ret_len);
}

int bm_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int bm_write_file(int dirfd, const char *path, int flags, mode_t mode, const char *text)
{
	autoclose fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, mode);

	if (fd < 0)
		return -errno;
	return bm_write_all(fd, text, strlen(text));
}

_Noreturn void bm_run_child(const char *const *argv, int out, int err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	if (syscall(SYS_close_range, 3, ~0u, 0) < 0)
		_exit(126);
	execvp(argv[0], (char *const *)argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/*
 * Ends with the child, not with its output: a container started by it may hold the pipes open
 * for as long as it lives.
 */
static int collect(int pidfd, int *fds, char **text, size_t *len, int timeout_ms)
{
	uint64_t deadline = bm_now_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * 1000000;
	struct pollfd polled[3] = { { fds[0], POLLIN, 0 },
				    { fds[1], POLLIN, 0 },
				    { pidfd, POLLIN, 0 } };
	bool ended = false;

	while (!ended) {
		uint64_t now = bm_now_ns(CLOCK_MONOTONIC);
		int r;

		if (now >= deadline)
			return -ETIMEDOUT;
		r = poll(polled, 3, (int)((deadline - now) / 1000000) + 1);
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r <= 0)
			continue;
		ended = polled[2].revents;
		for (int i = 0; i < 2; i++) {
			if (polled[i].fd < 0 || !polled[i].revents)
				continue;
			r = drain(fds[i], &text[i], &len[i], RUN_OUTPUT_MAX);
			if (r < 0)
				return r;
			if (r == 1)
				polled[i].fd = -1;
			else if (len[i] < RUN_OUTPUT_MAX)
				ended = false; /* there may be more */
		}
	}
	return 0;
}

static pid_t fork_child(void *arg, int out, int err)
{
	pid_t pid = fork();

	if (pid == 0)
		bm_run_child(arg, out, err);
	return pid < 0 ? -errno : pid;
}

int bm_run(const char *const *argv, int timeout_ms, int *ret_status, char **ret_out, char **ret_err)
{
	return bm_run_by(fork_child, (void *)(uintptr_t)argv, timeout_ms, ret_status, ret_out,
			 ret_err);
}

int bm_run_by(pid_t (*start)(void *arg, int out, int err), void *arg, int timeout_ms,
	      int *ret_status, char **ret_out, char **ret_err)
{
	autofree char *out = NULL, *err = NULL;
	char *text[2] = {};
	size_t len[2] = {};
	int out_pipe[2], err_pipe[2], r;
	pid_t pid;

	if (pipe2(out_pipe, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(err_pipe, O_CLOEXEC) < 0) {
		r = -errno;
		bm_close(out_pipe[0]);
		bm_close(out_pipe[1]);
		return r;
	}
	pid = start(arg, out_pipe[1], err_pipe[1]);
	r = pid < 0 ? (int)pid : 0;
	bm_close(out_pipe[1]);
	bm_close(err_pipe[1]);
	if (pid > 0) {
		autoclose pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

		r = pidfd < 0 ? -errno
			      : collect(pidfd, (int[]){ out_pipe[0], err_pipe[0] }, text, len,
					timeout_ms);
		if (r < 0)
			kill(pid, SIGKILL);
		while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
			;
	}
	bm_close(out_pipe[0]);
	bm_close(err_pipe[0]);
	out = text[0];
	err = text[1];
	if (r < 0)
		return r;
	if (ret_out)
		*ret_out = out ? TAKE_PTR(out) : calloc(1, 1);
	if (ret_err)
		*ret_err = err ? TAKE_PTR(err) : calloc(1, 1);
	return 0;
}

const char *bm_time_format(uint64_t realtime_ns, char buf[BM_TIME_LEN])
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	size_t len;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	len = strftime(buf, BM_TIME_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + len, BM_TIME_LEN - len, ".%09uZ", (unsigned)(realtime_ns % 1000000000));
	return buf;
}

int bm_time_parse(const char *text, uint64_t *ret_ns)
{
	struct tm tm = {};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	unsigned ns;
	int end = 0;
	time_t seconds;

	if (!rest || sscanf(rest, ".%9uZ%n", &ns, &end) != 1 || end != 11 || rest[end])
		return -EBADMSG;
	seconds = timegm(&tm);
	if (seconds < 0)
		return -EBADMSG;
	*ret_ns = (uint64_t)seconds * 1000000000 + ns;
	return 0;
}

uint64_t bm_now_ns(int clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}
