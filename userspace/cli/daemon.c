// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/io.h"
#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/progress.h"

const char *cli_socket_path(void)
{
	const char *path = getenv("BENCHMON_SOCKET");

	return path && *path ? path : BM_SOCKET_PATH;
}

int cli_connect_running(int *ret_socket)
{
	return bm_connect(cli_socket_path(), ret_socket);
}

static bool none_listens(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED;
}

/*
 * One that somebody else has started may still be at it: by hand, by systemd, or by a benchmon that
 * was ended meanwhile. While it starts it holds a lock, and whoever waits for that leaves it be.
 */
static int find_starting(int *ret_socket, struct bm_error *err)
{
	autoclose run = open(BM_RUN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = cli_connect_running(ret_socket);

	if (!none_listens(r) || run < 0)
		return r;
	while (flock(run, LOCK_SH) < 0)
		if (errno != EINTR)
			return bm_fail_errno(err, errno, "lock " BM_RUN_DIR);
	return cli_connect_running(ret_socket);
}

/*
 * Holds the log's directory while starting, so that of two CLIs one starts the daemon and the
 * other finds it. The descriptor is close-on-exec: the daemon must not hold it.
 */
static int start_or_find(int *ret_socket, struct bm_error *err)
{
	autoclose lock = -1;
	int r;

	if (mkdir(CLI_LOG_DIR, 0755) < 0 && errno != EEXIST)
		return bm_fail_errno(err, errno, "mkdir " CLI_LOG_DIR);
	lock = open(CLI_LOG_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (lock < 0)
		return bm_fail_errno(err, errno, CLI_LOG_DIR);
	while (flock(lock, LOCK_EX) < 0)
		if (errno != EINTR)
			return bm_fail_errno(err, errno, "lock " CLI_LOG_DIR);
	r = find_starting(ret_socket, err);
	if (!none_listens(r))
		return r;
	r = cli_daemon_start(err);
	if (r < 0 && find_starting(ret_socket, NULL) == 0) {
		/* Another one was started meanwhile, by hand or by systemd. */
		if (err)
			*err = (struct bm_error){};
		return 0;
	}
	return r < 0 ? r : cli_connect_running(ret_socket);
}

int cli_connect(int *ret_socket, struct bm_error *err)
{
	int r = cli_connect_running(ret_socket);

	if (none_listens(r) && geteuid() == 0) {
		cli_progress("starting gatekeeperd ...");
		r = start_or_find(ret_socket, err);
		cli_progress_done();
	} else if (none_listens(r)) {
		return bm_fail(err, -r, NULL, "run it as root, then it starts it",
			       "gatekeeperd is not running");
	}
	if (r == -EACCES || r == -EPERM)
		return bm_fail(err, -r, "socket", "run it as root",
			       "you may not talk to gatekeeperd");
	if (r < 0)
		return bm_fail_errno(err, -r, "connect to %s", cli_socket_path());
	return 0;
}
