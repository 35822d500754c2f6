// SPDX-License-Identifier: GPL-2.0-only
#include "bench/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/capability.h>
#include <linux/sched.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/box.h"
#include "bench/broker.h"
#include "bench/exec.h"
#include "confine/caps.h"
#include "confine/filter.h"

#define DATA_MAX (128 * 1024) /* a message of the protocol, and an environment */
#define ARGS_MAX 16
#define ANSWER_MS 30000

/*
 * What crun needs of the host before it enters the user namespace of a Bench, where it has all; and
 * what a payload may be left with (BM_CAPABILITIES), in a container without one.
 */
const uint64_t bm_launcher_capabilities =
	BM_CAP(CHOWN) | BM_CAP(DAC_OVERRIDE) | BM_CAP(DAC_READ_SEARCH) | BM_CAP(FOWNER) |
	BM_CAP(FSETID) | BM_CAP(KILL) | BM_CAP(SETGID) | BM_CAP(SETUID) | BM_CAP(SETPCAP) |
	BM_CAP(NET_BIND_SERVICE) | BM_CAP(NET_ADMIN) | BM_CAP(SYS_CHROOT) | BM_CAP(SYS_PTRACE) |
	BM_CAP(SYS_ADMIN) | BM_CAP(SYS_RESOURCE) | BM_CAP(AUDIT_WRITE) | BM_CAP(SETFCAP) |
	BM_CAP(BPF);

/*
 * For crun, and so for the containers that benchmon makes: an allow-list would be theirs too. Not
 * for what is executed in a Bench, where a refusal is the walls', which record it.
 */
static const char *const denied[] = {
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"reboot",
	"swapon",
	"swapoff",
	"iopl",
	"ioperm",
	"acct",
	"settimeofday",
	"clock_settime",
	"clock_adjtime",
	"syslog",
	"userfaultfd",
	"perf_event_open",
	"io_uring_setup",
	NULL,
};

struct request {
	uint32_t what;
	char data[DATA_MAX];
};

static int launcher = -1;

static bool one_of(const char *const *list, const char *word)
{
	while (*list && strcmp(*list, word))
		list++;
	return *list;
}

static bool ours(const char *path)
{
	static const char *const places[] = { BM_BOX_RUN "/", BM_BOX_STATE "/" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!strncmp(path, places[i], strlen(places[i])))
			return !strstr(path, "/..");
	return false;
}

static const char *const programs[BM_LAUNCH_MAX][8] = {
	[BM_LAUNCH_CRUN] = { "crun", "--cgroup-manager=cgroupfs", "--root" },
	[BM_LAUNCH_REMOVE] = { "rm", "-rf", "--one-file-system", "--" },
	/* Without a journal: it is thrown away before it could be replayed. */
	[BM_LAUNCH_FORMAT] = { "mkfs.ext4", "-qFm0", "-O", "^has_journal,^resize_inode" },
};

/* What may follow these words. */
static bool may_run(enum bm_launch what, const char *const *args, size_t count)
{
	static const char *const verbs[] = { "state", "create", "start", "delete", NULL };

	if (what == BM_LAUNCH_CRUN)
		return count >= 2 && one_of(verbs, args[1]);
	return count == 1 && ours(args[0]);
}

static _Noreturn void run(enum bm_launch what, const char *data, size_t size, const int *fds,
			  size_t count)
{
	const char *argv[ARGS_MAX + 1] = {};
	size_t n = 0, fixed;

	for (const char *const *word = programs[what]; *word; word++)
		argv[n++] = *word;
	fixed = n;
	for (const char *p = data; p < data + size && n < ARGS_MAX; p += strlen(p) + 1)
		argv[n++] = p;
	if (count != 2 || n == ARGS_MAX || !may_run(what, argv + fixed, n - fixed))
		_exit(126);
	bm_run_child(argv, fds[0], fds[1]);
}

static _Noreturn void become(enum bm_launch what, const char *data, size_t size, const int *fds,
			     size_t count, pid_t parent)
{
	/* Strings, the last one too. */
	if (what >= BM_LAUNCH_MAX || !size || data[size - 1])
		_exit(126);
	if (what == BM_LAUNCH_EXEC)
		bm_exec_launched(data, size, fds, count, parent);
	/* One that outlived the daemon would make what the next one has just swept away. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || bm_filter_deny(denied, NULL) < 0)
		_exit(126);
	if (what == BM_LAUNCH_BROKER)
		bm_broker_launched(fds, count);
	run(what, data, size, fds, count);
}

static ssize_t receive(int socket, struct request *request, int *fds, size_t *ret_count)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(BM_LAUNCH_FDS * sizeof(int))];
	} control;
	struct iovec iov = { request, sizeof(*request) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *cmsg = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	*ret_count = 0;
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS) {
		*ret_count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(cmsg), *ret_count * sizeof(int));
	}
	return n;
}

static _Noreturn void serve(int socket, pid_t parent)
{
	struct clone_args args = { .flags = CLONE_PARENT };
	static struct request request;
	int fds[BM_LAUNCH_FDS];

	for (;;) {
		size_t count;
		ssize_t n = receive(socket, &request, fds, &count);
		long pid;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= (ssize_t)sizeof(request.what))
			_exit(0); /* the daemon has ended */
		pid = syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0)
			become(request.what, request.data, (size_t)n - sizeof(request.what), fds,
			       count, parent);
		pid = pid < 0 ? -errno : pid;
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
		if (send(socket, &pid, sizeof(pid), MSG_NOSIGNAL) < 0)
			_exit(1);
	}
}

/*
 * A unit's OOMScoreAdjust= is for the daemon. What it executes inherited that, and untrusted work
 * would be the last on the host to be killed for memory.
 */
static int give_up_oom_score(void)
{
	static const char path[] = "/proc/self/oom_score_adj";
	autofree char *text = NULL;
	int r = bm_read_file(AT_FDCWD, path, 64, &text, NULL);

	if (r < 0 || text[0] != '-')
		return r;
	return bm_write_file(AT_FDCWD, path, 0, 0, "0");
}

static _Noreturn void launch_for(pid_t parent, int socket)
{
	struct bm_error err = {};

	/* One that outlived the daemon would have nobody to obey. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* In events it is not to be taken for the daemon. */
	prctl(PR_SET_NAME, "benchmon-launch");
	if (getppid() != parent || dup2(socket, 3) < 0 || syscall(SYS_close_range, 4, ~0u, 0) < 0 ||
	    fcntl(3, F_SETFD, FD_CLOEXEC) < 0)
		_exit(1);
	if (give_up_oom_score() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    bm_caps_bound(bm_launcher_capabilities, &err) < 0 ||
	    bm_caps_keep(bm_launcher_capabilities, &err) < 0)
		_exit(1);
	serve(3, parent);
}

int bm_launcher_start(int *ret_fd, struct bm_error *err)
{
	pid_t parent = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bm_fail_errno(err, errno, "socketpair");
	pid = fork();
	if (pid == 0)
		launch_for(parent, pair[1]);
	bm_close(pair[1]);
	if (pid < 0) {
		bm_close(pair[0]);
		return bm_fail_errno(err, errno, "launcher");
	}
	*ret_fd = launcher = pair[0];
	return 0;
}

static pid_t ask(enum bm_launch what, const void *data, size_t size, const int *fds, size_t count)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(BM_LAUNCH_FDS * sizeof(int))];
	} control = {};
	uint32_t word = what;
	struct iovec iov[2] = { { &word, sizeof(word) }, { (void *)(uintptr_t)data, size } };
	struct msghdr msg = { .msg_iov = iov,
			      .msg_iovlen = 2,
			      .msg_control = &control,
			      .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	struct pollfd polled = { launcher, POLLIN, 0 };
	long pid;

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, count * sizeof(int));
	if (sendmsg(launcher, &msg, MSG_NOSIGNAL) < 0)
		return errno == EPIPE || errno == ECONNRESET ? -ECHILD : -errno;
	if (poll(&polled, 1, ANSWER_MS) > 0 && recv(launcher, &pid, sizeof(pid), 0) == sizeof(pid))
		return (pid_t)pid;
	/* An answer that came late would be taken for the next one's. */
	shutdown(launcher, SHUT_RDWR);
	return -ECHILD;
}

pid_t bm_launch(enum bm_launch what, const void *data, size_t size, const int *fds, size_t count)
{
	pid_t parent = getpid(), pid;

	if (count > BM_LAUNCH_FDS || size > DATA_MAX)
		return -E2BIG;
	if (launcher >= 0)
		return ask(what, data, size, fds, count);
	pid = fork();
	if (pid == 0)
		become(what, data, size, fds, count, parent);
	return pid < 0 ? -errno : pid;
}

struct command {
	enum bm_launch what;
	const char *const *args;
};

static pid_t start(void *arg, int out, int err)
{
	const struct command *command = arg;
	char data[4096];
	size_t size = 0;

	for (const char *const *word = command->args; *word; word++) {
		size_t len = strlen(*word) + 1;

		if (len > sizeof(data) - size)
			return -E2BIG;
		memcpy(data + size, *word, len);
		size += len;
	}
	return bm_launch(command->what, data, size, (int[]){ out, err }, 2);
}

int bm_launch_run(enum bm_launch what, const char *const *args, int timeout_ms, int *ret_status,
		  char **ret_out, char **ret_err)
{
	struct command command = { what, args };

	return bm_run_by(start, &command, timeout_ms, ret_status, ret_out, ret_err);
}
