// SPDX-License-Identifier: GPL-2.0-only
/* Everything that is given up before the first byte of a Bench or an upstream is looked at. */
#include <errno.h>
#include <grp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker/broker.h"
#include "confine/caps.h"
#include "confine/filter.h"

/* No program is executed, no file opened, no name resolved, no process or thread made. */
static const char *const calls[] = {
	/* clang-format off */
	"accept4", "recvfrom", "recvmsg", "sendto", "sendmsg", "writev", "shutdown", "connect",
	"getsockopt", "setsockopt", "getsockname", "getpeername", "poll", "ppoll", "fcntl",
	"epoll_ctl", "epoll_wait", "epoll_pwait", "madvise", "rt_sigaction", "rt_sigprocmask",
	"clock_nanosleep", "gettimeofday", "time",
	/* clang-format on */
	NULL,
};

static const struct bm_first_argument arguments[] = { { "socket", AF_INET },
						      { "socket", AF_INET6 } };

/*
 * Landlock's own numbers, since the headers that it is built with may be older than the kernel:
 * files are nobody's any more (ABI 1), only the upstream's port may be connected to (4), no
 * abstract socket or signal beyond itself (6).
 */
struct ruleset {
	uint64_t files, network, scoped;
};

struct port_rule {
	uint64_t allowed, port;
};

#define FILES_1 0x1fffull
#define FILES_2 (1ull << 13)
#define FILES_3 (1ull << 14)
#define FILES_5 (1ull << 15)
#define BIND_TCP 1ull
#define CONNECT_TCP 2ull
#define SCOPES 3ull
#define RULE_PORT 2

static int landlock(uint16_t port, struct bm_error *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	struct ruleset rules = { .files = FILES_1 };
	struct port_rule rule = { CONNECT_TCP, port };
	int fd, r = 0;

	/* Not there, or not switched on: what follows is there in any case. */
	if (abi < 1)
		return 0;
	rules.files |=
		(abi >= 2 ? FILES_2 : 0) | (abi >= 3 ? FILES_3 : 0) | (abi >= 5 ? FILES_5 : 0);
	rules.network = abi >= 4 ? BIND_TCP | CONNECT_TCP : 0;
	rules.scoped = abi >= 6 ? SCOPES : 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules,
			  abi >= 6   ? sizeof(rules)
			  : abi >= 4 ? 2 * sizeof(uint64_t)
				     : sizeof(uint64_t),
			  0);
	if (fd < 0)
		return bm_fail_errno(err, errno, "landlock");
	if ((abi >= 4 && syscall(SYS_landlock_add_rule, fd, RULE_PORT, &rule, 0) < 0) ||
	    syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		r = bm_fail_errno(err, errno, "landlock");
	close(fd);
	return r;
}

int confine_memory(struct broker *broker, struct bm_error *err)
{
	const struct rlimit none = {}, all = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit locked;

	if (prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return bm_fail_errno(err, errno, "leave no core dump");
	/* Copies of the credential are wherever the two libraries keep what they send. */
	setrlimit(RLIMIT_MEMLOCK, &all);
	broker->locked = "credential";
#ifndef __SANITIZE_ADDRESS__
	if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur == RLIM_INFINITY &&
	    mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0)
		broker->locked = "all";
#else
	(void)locked;
#endif
	return 0;
}

/* Of the pages that are known to hold it. */
static int lock_credential(const struct broker *broker, struct bm_error *err)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)broker->header & ~(page - 1);
	uintptr_t end = (uintptr_t)broker->header + strlen(broker->header) + 1;

	if (strcmp(broker->locked, "all") && mlock((void *)start, end - start) < 0)
		return bm_fail_errno(err, errno, "keep the credential out of swap");
	return 0;
}

int confine_process(struct broker *broker, struct bm_error *err)
{
	const struct rlimit fds = { FDS, FDS }, no_files = {}, self = {};
	struct bm_filter filter = {
		.calls = { calls },
		.arguments = arguments,
		.argument_count = sizeof(arguments) / sizeof(arguments[0]),
	};
	int r = lock_credential(broker, err);

	if (r < 0)
		return r;
	/* Nothing is written to a file, and no process made, by whatever call. */
	if (setrlimit(RLIMIT_NOFILE, &fds) < 0 || setrlimit(RLIMIT_FSIZE, &no_files) < 0)
		return bm_fail_errno(err, errno, "limits");
	if (geteuid() == 0) {
		/* Needs SETPCAP, which may be gone: nothing is executed from here on. */
		bm_caps_bound(0, NULL);
		if (setgroups(0, NULL) < 0 ||
		    setresgid(broker->gid, broker->gid, broker->gid) < 0 ||
		    setresuid(broker->uid, broker->uid, broker->uid) < 0)
			return bm_fail_errno(err, errno, "become uid %u", broker->uid);
	}
	if (setrlimit(RLIMIT_NPROC, &self) < 0)
		return bm_fail_errno(err, errno, "limits");
	r = bm_caps_keep(0, err);
	/* The change of user has forgotten it. */
	if (r == 0 && (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		r = bm_fail_errno(err, errno, "no_new_privs");
	if (r == 0)
		r = landlock(broker->definition.port, err);
	return r < 0 ? r : bm_filter_allow(&filter, err);
}
