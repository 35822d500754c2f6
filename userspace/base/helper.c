// SPDX-License-Identifier: GPL-2.0-only
#include "base/helper.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* As the kernel has it. */
#define MAX_ERRNO 4095

struct answer {
	int result;
	struct bm_error err;
};

static void answer_send(int socket, const struct answer *answer, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov = { (void *)(uintptr_t)answer, sizeof(*answer) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *cmsg;

		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	}
	while (sendmsg(socket, &msg, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static int answer_receive(int socket, int timeout_ms, struct answer *ret, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { ret, sizeof(*ret) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd polled = { socket, POLLIN, 0 };
	struct cmsghdr *cmsg;
	ssize_t n;

	do {
		n = poll(&polled, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return -ETIMEDOUT;
	n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	if (n != sizeof(*ret))
		return -ECHILD;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(cmsg), sizeof(int));
	return 0;
}

_Noreturn void bm_helper_child(int socket, bm_helper_fn fn, void *arg, pid_t parent)
{
	struct answer answer = {};
	int fd = -1;

	/* A helper that outlived the daemon would act on a state nobody knows any more. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	answer.result = fn(arg, &fd, &answer.err);
	answer_send(socket, &answer, answer.result < 0 ? -1 : fd);
	_exit(0);
}

int bm_helper_await(int socket, pid_t pid, int timeout_ms, int *ret_fd, struct bm_error *err)
{
	struct answer answer = {};
	autoclose got = -1;
	int r = answer_receive(socket, timeout_ms, &answer, &got);

	/* It has said what it had to say, and may have been taken over: nobody waits for it. */
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return bm_fail_errno(err, -r, "helper");
	answer.err.message[sizeof(answer.err.message) - 1] = '\0';
	answer.err.rule[sizeof(answer.err.rule) - 1] = '\0';
	answer.err.remedy[sizeof(answer.err.remedy) - 1] = '\0';
	if (answer.result < -MAX_ERRNO)
		answer.result = -EPROTO;
	if (answer.result < 0) {
		if (err && !err->code)
			*err = answer.err;
		return bm_fail_errno(err, -answer.result, "helper");
	}
	if (ret_fd)
		*ret_fd = TAKE_FD(got);
	return answer.result;
}

int bm_helper(bm_helper_fn fn, void *arg, int *ret_fd, struct bm_error *err)
{
	return bm_helper_within(BM_HELPER_MS, fn, arg, ret_fd, err);
}

/* Two of the same number, or -1, are as good. */
static int close_but(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);

	if (low < 3 || low > INT_MAX)
		low = high;
	if ((low > 3 && syscall(SYS_close_range, 3, low - 1, 0) < 0) ||
	    (high > low + 1 && syscall(SYS_close_range, low + 1, high - 1, 0) < 0) ||
	    syscall(SYS_close_range, high + 1, ~0u, 0) < 0)
		return -errno;
	return 0;
}

/* keep NULL: all of them. */
static int start(bm_helper_fn fn, void *arg, const int *keep, int *ret_socket, pid_t *ret_pid,
		 struct bm_error *err)
{
	pid_t parent = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bm_fail_errno(err, errno, "socketpair");
	pid = fork();
	if (pid == 0) {
		if (keep && close_but(pair[1], *keep) < 0)
			_exit(1);
		bm_helper_child(pair[1], fn, arg, parent);
	}
	bm_close(pair[1]);
	if (pid < 0) {
		bm_close(pair[0]);
		return bm_fail_errno(err, errno, "helper");
	}
	*ret_socket = pair[0];
	*ret_pid = pid;
	return 0;
}

int bm_helper_start(bm_helper_fn fn, void *arg, int keep, int *ret_socket, pid_t *ret_pid,
		    struct bm_error *err)
{
	return start(fn, arg, keep == BM_HELPER_ALL ? NULL : &keep, ret_socket, ret_pid, err);
}

void bm_helper_end(int *socket, pid_t pid)
{
	if (*socket < 0)
		return;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	bm_close(TAKE_FD(*socket));
}

int bm_helper_within(int timeout_ms, bm_helper_fn fn, void *arg, int *ret_fd, struct bm_error *err)
{
	autoclose socket = -1;
	pid_t pid;
	int r = start(fn, arg, NULL, &socket, &pid, err);

	return r < 0 ? r : bm_helper_await(socket, pid, timeout_ms, ret_fd, err);
}
