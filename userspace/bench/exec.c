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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/capability.h>
#include <linux/sched.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "bench/syscalls.h"

enum { NS_PID, NS_MNT, NS_NET, NS_UTS, NS_IPC, NS_CGROUP, NS_USER, NS_MAX };
static const char *const ns_names[NS_MAX] = { "pid", "mnt", "net", "uts", "ipc", "cgroup", "user" };

struct context {
	const struct bm_exec *exec;
	int ns[NS_MAX]; /* -1: the daemon's own already */
	int root;
	uint64_t bounding;
	int report; /* close-on-exec: an errno, or the end of file at execve */
	pid_t pid;
};

static bool same_namespace(int fd, const char *name)
{
	struct stat a, b;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

static int open_namespaces(struct context *c, struct bm_error *err)
{
	char path[64];

	for (int i = 0; i < NS_MAX; i++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", c->exec->pid, ns_names[i]);
		c->ns[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (c->ns[i] < 0)
			return bm_fail_errno(err, errno, "%s", path);
		if (same_namespace(c->ns[i], ns_names[i]))
			bm_close(TAKE_FD(c->ns[i]));
	}
	snprintf(path, sizeof(path), "/proc/%d/root", c->exec->pid);
	c->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return c->root < 0 ? bm_fail_errno(err, errno, "%s", path) : 0;
}

static int read_bounding(struct context *c, struct bm_error *err)
{
	autofree char *text = NULL;
	char path[64], *line;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/status", c->exec->pid);
	r = bm_read_file(AT_FDCWD, path, 65536, &text, NULL);
	if (r < 0)
		return bm_fail_errno(err, -r, "%s", path);
	line = strstr(text, "\nCapBnd:");
	if (!line)
		return bm_fail(err, EPROTO, NULL, NULL, "%s: no CapBnd", path);
	c->bounding = strtoull(line + strlen("\nCapBnd:"), NULL, 16);
	return 0;
}

/* No more than the container's own processes can get. */
static int limit_capabilities(uint64_t bounding)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)bounding, .permitted = (uint32_t)bounding },
		{ .effective = (uint32_t)(bounding >> 32),
		  .permitted = (uint32_t)(bounding >> 32) },
	};

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (!(bounding & 1ull << cap) && prctl(PR_CAPBSET_DROP, cap) < 0)
			return -errno;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static int become_root_of(const struct context *c)
{
	if (c->ns[NS_CGROUP] >= 0 && setns(c->ns[NS_CGROUP], CLONE_NEWCGROUP) < 0)
		return -errno;
	if (c->ns[NS_USER] >= 0 && setns(c->ns[NS_USER], CLONE_NEWUSER) < 0)
		return -errno;
	if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return limit_capabilities(c->bounding);
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

static int set_stdio(const struct context *c)
{
	const int *stdio = c->exec->stdio;
	int moved[3];

	/* Above 2 first: one of them may itself be 0, 1 or 2. */
	for (int i = 0; i < 3; i++)
		if ((moved[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 3)) < 0)
			return -errno;
	for (int i = 0; i < 3; i++)
		if (dup2(moved[i], i) < 0)
			return -errno;
	/* Nothing else crosses the exec; an arrival that tried would be refused it. */
	return syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

/* In the Bench's cgroup and pid namespace, marked an arrival, still with the daemon's credentials.
 */
static _Noreturn void payload(struct context *c)
{
	const struct bm_exec *x = c->exec;
	sigset_t none;
	int r;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	setsid();
	umask(022);
	/* In events it is not to be taken for the daemon. */
	prctl(PR_SET_NAME, "benchmon-exec");
	r = set_stdio(c);
	if (r == 0 && x->tty && ioctl(0, TIOCSCTTY, 0) < 0)
		r = -errno;
	if (r == 0)
		r = become_root_of(c);
	if (r == 0 && chdir(x->cwd ?: "/") < 0)
		r = -errno;
	if (r == 0 && x->filter)
		r = bm_syscalls_deny(NULL);
	if (r == 0)
		r = execute(x);
	r = -r;
	(void)!write(c->report, &r, sizeof(r));
	_exit(127);
}

/* In a helper: joins what needs the daemon's credentials, then forks into the cgroup. */
static int join(void *arg, int *ret_fd, struct bm_error *err)
{
	static const int flags[NS_USER] = { CLONE_NEWPID, CLONE_NEWNS,  CLONE_NEWNET,
					    CLONE_NEWUTS, CLONE_NEWIPC, 0 };
	struct context *c = arg;
	int pidfd = -1;
	struct clone_args args = {
		/* CLONE_PARENT: a child of the daemon, which outlives this helper. */
		.flags = CLONE_PIDFD | CLONE_INTO_CGROUP | CLONE_PARENT,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.cgroup = (uint64_t)c->exec->cgroup->fd,
	};
	long pid;

	for (int i = 0; i < NS_CGROUP; i++)
		if (c->ns[i] >= 0 && setns(c->ns[i], flags[i]) < 0)
			return bm_fail_errno(err, errno, "join the %s namespace", ns_names[i]);
	if (fchdir(c->root) < 0 || chroot(".") < 0)
		return bm_fail_errno(err, errno, "the Bench's root");
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return bm_fail_errno(err, errno, "fork into the Bench");
	if (pid == 0)
		payload(c);
	*ret_fd = pidfd;
	return (int)pid;
}

static void close_context(struct context *c)
{
	for (int i = 0; i < NS_MAX; i++)
		bm_close(c->ns[i]);
	bm_close(c->root);
}

int bm_exec_start(const struct bm_exec *exec, pid_t *ret_pid, int *ret_pidfd, struct bm_error *err)
{
	__attribute__((cleanup(close_context))) struct context c = {
		.exec = exec, .ns = { -1, -1, -1, -1, -1, -1, -1 }, .root = -1
	};
	autoclose said_r = -1, said_w = -1, pidfd = -1;
	int said[2], code = 0, r;

	if (pipe2(said, O_CLOEXEC) < 0)
		return bm_fail_errno(err, errno, "pipe");
	said_r = said[0];
	said_w = c.report = said[1];
	r = open_namespaces(&c, err);
	if (r == 0)
		r = read_bounding(&c, err);
	if (r == 0)
		r = bm_helper(join, &c, &pidfd, err);
	if (r < 0)
		return r;
	bm_close(TAKE_FD(said_w));
	if (read(said_r, &code, sizeof(code)) == sizeof(code)) {
		siginfo_t info;

		waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
		return bm_fail(err, code, "exec",
			       code == ENOENT   ? "see what is in its root file system"
			       : code == EACCES ? "`benchmon events` has the reason"
						: NULL,
			       "%s: %s", exec->argv[0], strerror(code));
	}
	*ret_pid = r;
	*ret_pidfd = TAKE_FD(pidfd);
	return 0;
}
