// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/io.h"
#include "cli/cli.h"
#include "cli/daemon.h"

/* Loading the programs takes seconds in an emulated machine. */
#define START_TIMEOUT_MS 120000
/* Where the daemon finds its end of the pipe. */
#define READY_FD 3

int cli_daemon_find(char *ret_path, size_t size, struct bm_error *err)
{
	static const char *const near[] = { "gatekeeperd", "../libexec/gatekeeperd",
					    "../libexec/benchmon/gatekeeperd", NULL };
	static const char *const far[] = { "/usr/sbin/gatekeeperd",
					   "/usr/libexec/benchmon/gatekeeperd", NULL };
	const char *chosen = getenv("BENCHMON_GATEKEEPERD");
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *dir;

	if (chosen && *chosen) {
		snprintf(ret_path, size, "%s", chosen);
		if (access(ret_path, X_OK) < 0)
			return bm_fail_errno(err, errno, "BENCHMON_GATEKEEPERD=%s", chosen);
		return 0;
	}
	self[n > 0 ? n : 0] = '\0';
	dir = dirname(self);
	for (int i = 0; n > 0 && near[i]; i++) {
		int len = snprintf(ret_path, size, "%s/%s", dir, near[i]);

		if (len > 0 && (size_t)len < size && access(ret_path, X_OK) == 0)
			return 0;
	}
	for (int i = 0; far[i]; i++) {
		snprintf(ret_path, size, "%s", far[i]);
		if (access(ret_path, X_OK) == 0)
			return 0;
	}
	return bm_fail(err, ENOENT, NULL, "install it, or set BENCHMON_GATEKEEPERD to its path",
		       "there is no gatekeeperd beside benchmon");
}

static _Noreturn void child(const char *path, int ready, int log)
{
	static const char *const env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
					   "/usr/bin:/sbin:/bin",
					   NULL };
	const char *socket = getenv("BENCHMON_SOCKET") ? cli_socket_path() : NULL;
	const char *argv[] = { "gatekeeperd", "--background-fd",
			       "3",           socket ? "--socket" : NULL,
			       socket,        NULL };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	/* Who happened to start it must not matter: signals, terminal, directory, environment. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	if (setsid() < 0 || null < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 ||
	    (ready != READY_FD && dup2(ready, READY_FD) < 0) || fcntl(READY_FD, F_SETFD, 0) < 0 ||
	    syscall(SYS_close_range, READY_FD + 1, ~0u, 0) < 0 || chdir("/") < 0)
		_exit(1);
	execve(path, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
	dprintf(READY_FD, "%s: %s\n", path, strerror(errno));
	_exit(1);
}

/* Reads up to the end of what the daemon says; *text is NUL-terminated. */
static int await(int fd, char *text, size_t size, struct bm_error *err)
{
	uint64_t deadline = bm_now_ns(CLOCK_MONOTONIC) + START_TIMEOUT_MS * 1000000ull;
	size_t len = 0;

	for (;;) {
		struct pollfd polled = { fd, POLLIN, 0 };
		uint64_t now = bm_now_ns(CLOCK_MONOTONIC);
		ssize_t n;

		if (now >= deadline)
			return bm_fail(err, ETIMEDOUT, NULL, "see " CLI_LOG_PATH,
				       "gatekeeperd did not come up in %d s",
				       START_TIMEOUT_MS / 1000);
		if (poll(&polled, 1, (int)((deadline - now) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, text + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bm_fail_errno(err, errno, "gatekeeperd");
		len += (size_t)n;
		text[len] = '\0';
		if (n == 0 || len == size - 1 || strchr(text, '\n')) {
			text[strcspn(text, "\n")] = '\0';
			return 0;
		}
	}
}

int cli_daemon_start(struct bm_error *err)
{
	char path[PATH_MAX], text[480] = "";
	autoclose ready = -1, told = -1, log = -1;
	int ends[2], r;
	pid_t pid;

	r = cli_daemon_find(path, sizeof(path), err);
	if (r < 0)
		return r;
	/* With a socket or a program of one's own it is no service. */
	if (!getenv("BENCHMON_SOCKET") && !getenv("BENCHMON_GATEKEEPERD") && cli_service_of(path))
		return cli_service_start(err);
	log = open(CLI_LOG_PATH, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (log < 0)
		return bm_fail_errno(err, errno, CLI_LOG_PATH);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return bm_fail_errno(err, errno, "pipe");
	ready = ends[0];
	told = ends[1];
	pid = fork();
	if (pid == 0)
		child(path, told, log);
	if (pid < 0)
		return bm_fail_errno(err, errno, "fork");
	close(TAKE_FD(told));
	r = await(ready, text, sizeof(text), err);
	if (r < 0)
		return r;
	if (!strcmp(text, "ok"))
		return 0;
	if (!*text)
		return bm_fail(err, ECHILD, NULL, "see " CLI_LOG_PATH,
			       "gatekeeperd ended before it was ready");
	/* Its own line has the rule and the remedy already. */
	return bm_fail(err, ECHILD, NULL, NULL, "gatekeeperd: %s", text);
}
