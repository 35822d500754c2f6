// SPDX-License-Identifier: GPL-2.0-only
#include "bench/broker.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "confine/caps.h"

#define PROGRAM "benchmon-broker"
#define ENDPOINT_FD 3
#define CONTROL_FD 4
#define ABOVE 16

/* To become somebody else, and to give the rest up. */
static const uint64_t capabilities =
	BM_CAP(SETUID) | BM_CAP(SETGID) | BM_CAP(SETPCAP) | BM_CAP(SYS_RESOURCE);

static void find_program(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof(PROGRAM));
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		_exit(126);
	memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
}

/* Their numbers may be each other's: above all of them first. */
static void place(const int *fds, size_t count)
{
	int control = fcntl(fds[BM_BROKER_CONTROL], F_DUPFD_CLOEXEC, ABOVE);
	int endpoint = count == BM_BROKER_FDS
			       ? fcntl(fds[BM_BROKER_ENDPOINT], F_DUPFD_CLOEXEC, ABOVE)
			       : -1;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (control < 0 || null < 0 || (count == BM_BROKER_FDS && endpoint < 0))
		_exit(126);
	for (int fd = 0; fd < ENDPOINT_FD; fd++)
		if (dup2(null, fd) < 0)
			_exit(126);
	close(ENDPOINT_FD);
	if (dup2(control, CONTROL_FD) < 0 || (endpoint >= 0 && dup2(endpoint, ENDPOINT_FD) < 0) ||
	    syscall(SYS_close_range, CONTROL_FD + 1, ~0u, 0) < 0)
		_exit(126);
}

_Noreturn void bm_broker_launched(const int *fds, size_t count)
{
	static char *const argv[] = { (char *)(uintptr_t)PROGRAM, NULL }, *const env[] = { NULL };
	const struct rlimit none = {};
	struct bm_error err = {};
	char path[PATH_MAX];

	if (count != BM_BROKER_FDS && count != BM_BROKER_FDS - 1)
		_exit(126);
	find_program(path);
	place(fds, count);
	/* It holds a credential. */
	if (setrlimit(RLIMIT_CORE, &none) < 0 || bm_caps_bound(capabilities, &err) < 0 ||
	    bm_caps_keep(capabilities, &err) < 0)
		_exit(126);
	execve(path, argv, env);
	_exit(127);
}
