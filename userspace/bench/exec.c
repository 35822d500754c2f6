// SPDX-License-Identifier: GPL-2.0-only
#include "bench/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/keyctl.h>
#include <linux/sched.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "bench/admit.h"
#include "bench/launcher.h"
#include "bench/syscalls.h"
#include "bpf/abi.h"
#include "confine/caps.h"

struct context {
	const struct bm_exec *exec;
	uint64_t bounding;
	int report; /* an errno, or the end of file at execve */
};

/* No more than what the walls leave of what the container's own processes can get. */
static int limit_capabilities(uint64_t bounding)
{
	int r = bm_caps_bound(bounding, NULL);

	return r < 0 ? r : bm_caps_keep(bounding, NULL);
}

/* True when the namespace is another one than ours, so that it is to be joined. */
static bool foreign(int ns, const char *name)
{
	struct stat theirs, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	return fstat(ns, &theirs) < 0 || stat(path, &ours) < 0 || theirs.st_ino != ours.st_ino ||
	       theirs.st_dev != ours.st_dev;
}

static int join_user(const struct bm_target *target, bool own_user_ns)
{
	/* The daemon's session keyring would come along with its credentials. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return -errno;
	/* Before: in a user namespace that somebody who is not root has made nobody may. */
	if (setgroups(0, NULL) < 0)
		return -errno;
	if (own_user_ns && setns(target->ns[BM_NS_USER], CLONE_NEWUSER) < 0)
		return -errno;
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static const char *search_path(char *const *env)
{
	for (; env && *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

/* As execvp(3), but by the environment of the payload. Returns -errno. */
static int execute(const struct bm_exec *x)
{
	const char *path = search_path(x->env);
	int failed = ENOENT;

	if (strchr(x->argv[0], '/')) {
		execve(x->argv[0], x->argv, x->env);
		return -errno;
	}
	while (*path) {
		size_t len = strcspn(path, ":");
		char file[4096];

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)len, path, x->argv[0]) <
		    (int)sizeof(file)) {
			execve(file, x->argv, x->env);
			if (errno != ENOENT && errno != ENOTDIR)
				failed = errno;
		}
		path += len + (path[len] == ':');
	}
	return -failed;
}

#define REPORT_FD 3

/*
 * 0 to 2, the report at 3, and nothing else, closed and not only at the exec: a working directory
 * of /proc/self/fd/N would lead into whatever the daemon has open.
 */
static int set_fds(struct context *c)
{
	const int *stdio = c->exec->stdio;
	int moved[3], report = fcntl(c->report, F_DUPFD_CLOEXEC, 8);

	/* Above first: one of them may itself be 0, 1, 2 or 3. */
	for (int i = 0; i < 3; i++)
		if ((moved[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 8)) < 0)
			return -errno;
	for (int i = 0; i < 3; i++)
		if (dup2(moved[i], i) < 0)
			return -errno;
	if (report < 0 || dup3(report, REPORT_FD, O_CLOEXEC) < 0)
		return -errno;
	c->report = REPORT_FD;
	return syscall(SYS_close_range, REPORT_FD + 1, ~0u, 0) < 0 ? -errno : 0;
}

/* In the Bench's cgroup and pid namespace, marked an arrival, still with the daemon's credentials.
 */
static _Noreturn void payload(struct context *c, bool own_cgroup_ns, bool own_user_ns)
{
	const struct bm_exec *x = c->exec;
	sigset_t none;
	int r = 0;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	setsid();
	umask(022);
	/* In events it is not to be taken for the daemon. */
	prctl(PR_SET_NAME, "benchmon-exec");
	if (own_cgroup_ns)
		r = setns(x->target->ns[BM_NS_CGROUP], CLONE_NEWCGROUP) < 0 ? -errno : 0;
	if (r == 0)
		r = join_user(x->target, own_user_ns);
	if (r == 0)
		r = set_fds(c);
	if (r == 0 && x->tty && ioctl(0, TIOCSCTTY, 0) < 0)
		r = -errno;
	if (r == 0)
		r = limit_capabilities(c->bounding);
	if (r == 0 && chdir(x->cwd ?: "/") < 0)
		r = -errno - BM_EXEC_CWD;
	if (r == 0 && x->filter)
		r = bm_syscalls_deny(x->image, x->userns, NULL);
	if (r == 0)
		r = execute(x);
	r = -r;
	(void)!write(c->report, &r, sizeof(r));
	_exit(127);
}

/* In a helper: joins what needs the daemon's credentials, then forks into the cgroup. */
static int join(void *arg, int *ret_fd, struct bm_error *err)
{
	static const int flags[BM_NS_MAX] = {
		CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWUTS, CLONE_NEWIPC, 0, 0
	};
	struct context *c = arg;
	const struct bm_target *target = c->exec->target;
	bool foreign_ns[BM_NS_MAX];
	int pidfd = -1;
	struct clone_args args = {
		/* CLONE_PARENT: a child of the daemon, which outlives this helper. */
		.flags = CLONE_PIDFD | CLONE_INTO_CGROUP | CLONE_PARENT,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.cgroup = (uint64_t)c->exec->cgroup->fd,
	};
	long pid;

	/* Compared before the first is joined: after that /proc may be the Bench's. */
	for (int i = 0; i < BM_NS_MAX; i++)
		foreign_ns[i] = foreign(target->ns[i], bm_namespace_names[i]);
	for (int i = 0; i < BM_NS_CGROUP; i++)
		if (foreign_ns[i] && setns(target->ns[i], flags[i]) < 0)
			return bm_fail_errno(err, errno, "join the %s namespace",
					     bm_namespace_names[i]);
	if (fchdir(target->root) < 0 || chroot(".") < 0)
		return bm_fail_errno(err, errno, "the Bench's root");
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return bm_fail_errno(err, errno, "fork into the Bench");
	if (pid == 0)
		payload(c, foreign_ns[BM_NS_CGROUP], foreign_ns[BM_NS_USER]);
	*ret_fd = pidfd;
	return (int)pid;
}

int bm_exec_failed(const char *command, int code, struct bm_error *err)
{
	if (code > BM_EXEC_CWD)
		return bm_fail(err, code - BM_EXEC_CWD, "cwd", "give a directory of the Bench",
			       "the working directory: %s", strerror(code - BM_EXEC_CWD));
	return bm_fail(err, code, "exec",
		       code == ENOENT   ? "see what is in its root file system"
		       : code == EACCES ? "`benchmon events` has the reason"
					: NULL,
		       "%s: %s", command, strerror(code));
}

/* As it goes to the launcher: then argv, env, and the directory, each with its NUL. */
struct order {
	uint64_t bounding;
	uint32_t argc, envc;
	bool tty, filter, image, userns;
};

/* Its fds. */
enum {
	FD_NS,
	FD_ROOT = BM_NS_MAX,
	FD_CGROUP,
	FD_STDIO,
	FD_REPORT = FD_STDIO + 3,
	FD_ANSWER,
	FD_MAX
};
_Static_assert(FD_MAX <= BM_LAUNCH_FDS, "all in one message");

static uint32_t add_strings(FILE *to, char *const *list)
{
	uint32_t count = 0;

	for (; list && *list; list++, count++)
		fwrite(*list, 1, strlen(*list) + 1, to);
	return count;
}

static char **take_strings(const char **at, const char *end, uint32_t count)
{
	char **list = count < (size_t)(end - *at) + 1 ? calloc(count + 1, sizeof(*list)) : NULL;

	for (uint32_t i = 0; list && i < count; i++) {
		if (*at >= end)
			_exit(126);
		list[i] = (char *)(uintptr_t)*at;
		*at += strlen(*at) + 1;
	}
	return list;
}

_Noreturn void bm_exec_launched(const char *data, size_t size, const int *fds, size_t count,
				pid_t parent)
{
	struct bm_target target = { .root = count == FD_MAX ? fds[FD_ROOT] : -1 };
	struct bm_cgroup_ref cgroup = { .fd = count == FD_MAX ? fds[FD_CGROUP] : -1 };
	struct bm_exec exec = { .target = &target, .cgroup = &cgroup };
	struct context c = { .exec = &exec };
	const char *at = data + sizeof(struct order), *end = data + size;
	struct order order;

	if (count != FD_MAX || size <= sizeof(order))
		_exit(126);
	memcpy(&order, data, sizeof(order));
	memcpy(target.ns, fds + FD_NS, sizeof(target.ns));
	memcpy(exec.stdio, fds + FD_STDIO, sizeof(exec.stdio));
	exec.argv = take_strings(&at, end, order.argc);
	exec.env = take_strings(&at, end, order.envc);
	if (!exec.argv || !exec.argv[0] || !exec.env || at >= end)
		_exit(126);
	exec.cwd = at;
	exec.tty = order.tty;
	exec.filter = order.filter;
	exec.image = order.image;
	exec.userns = order.userns;
	c.bounding = order.bounding & bm_launcher_capabilities;
	c.report = fds[FD_REPORT];
	bm_helper_child(fds[FD_ANSWER], join, &c, parent);
}

static int launch(const struct bm_exec *exec, int report, int answer)
{
	struct order order = {
		.bounding = exec->target->bounding & BM_CAPABILITIES,
		.tty = exec->tty,
		.filter = exec->filter,
		.image = exec->image,
		.userns = exec->userns,
	};
	int fds[FD_MAX] = { [FD_ROOT] = exec->target->root,
			    [FD_CGROUP] = exec->cgroup->fd,
			    [FD_REPORT] = report,
			    [FD_ANSWER] = answer };
	autofree char *data = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&data, &size);

	if (!to)
		return -errno;
	memcpy(fds + FD_NS, exec->target->ns, sizeof(exec->target->ns));
	memcpy(fds + FD_STDIO, exec->stdio, sizeof(exec->stdio));
	fwrite(&order, sizeof(order), 1, to);
	order.argc = add_strings(to, exec->argv);
	order.envc = add_strings(to, exec->env);
	fprintf(to, "%s%c", exec->cwd ?: "/", '\0');
	if (fclose(to) || !data)
		return -ENOMEM;
	memcpy(data, &order, sizeof(order));
	return bm_launch(BM_LAUNCH_EXEC, data, size, fds, FD_MAX);
}

int bm_exec_start(const struct bm_exec *exec, pid_t *ret_pid, int *ret_pidfd, int *ret_report,
		  struct bm_error *err)
{
	autoclose report_r = -1, report_w = -1, answer_r = -1, answer_w = -1, pidfd = -1;
	int pair[2], r;

	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return bm_fail_errno(err, errno, "pipe");
	report_r = pair[0];
	report_w = pair[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bm_fail_errno(err, errno, "socketpair");
	answer_r = pair[0];
	answer_w = pair[1];
	r = launch(exec, report_w, answer_w);
	if (r < 0)
		return bm_fail_errno(err, -r, "launcher");
	/* Else it would never be told of the child's end. */
	bm_close(TAKE_FD(answer_w));
	r = bm_helper_await(answer_r, r, BM_HELPER_MS, &pidfd, err);
	if (r < 0)
		return r;
	*ret_pid = r;
	*ret_pidfd = TAKE_FD(pidfd);
	*ret_report = TAKE_FD(report_r);
	return 0;
}
