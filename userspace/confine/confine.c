// SPDX-License-Identifier: GPL-2.0-only
#include "confine/confine.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/capability.h>

#include "confine/caps.h"
#include "confine/filter.h"

static const char *const look[] = {
	"openat", "openat2", "open_tree", "fstat",     "newfstatat", "statx",
	"statfs", "fcntl",   "lseek",     "setns",     "readlink",   "readlinkat",
	"access", "fchdir",  "chdir",     "faccessat", "getdents64", NULL,
};

static const char *const mounts[] = {
	"mount",   "umount2",  "move_mount", "mount_setattr", "fsopen",  "fsconfig",
	"fsmount", "mkdir",    "mkdirat",    "mknod",         "mknodat", "rmdir",
	"unlink",  "unlinkat", "setfsuid",   "setfsgid",      NULL,
};

static const char *const pins[] = { "pivot_root", NULL };
static const struct bm_first_argument pin_arguments[] = { { "unshare", CLONE_NEWNS } };

static const char *const network[] = {
	"openat", "write", "fstat",  "newfstatat", "setns",
	"socket", "bind",  "listen", "setsockopt", NULL,
};

static const char *const user[] = { "unshare", "write", NULL };

static const char *const scan[] = {
	"openat",
	"fstat",
	"newfstatat",
	"statx",
	"fcntl",
	"lseek",
	"readlink",
	"readlinkat",
	"getdents64",
	"write",
	"kcmp",
	"pidfd_open",
	"open_by_handle_at",
	"memfd_create",
	"memfd_secret",
	"io_setup",
	"io_destroy",
	"pipe2",
	"socket",
	"epoll_create1",
	NULL,
};

/* Not by openat(2), which would follow a link out of the directory. */
static const char *const reading[] = {
	"openat2",    "fstat", "newfstatat", "statx",        "fcntl",
	"getdents64", "lseek", "write",      "memfd_create", NULL,
};

static const char *const access_calls[] = { "faccessat2", NULL };

/* The resolver's configuration, its answers over UDP and TCP, and the memory that they go into. */
static const char *const resolve[] = {
	"openat", "fstat",   "newfstatat",   "statx",  "lseek",    "uname",
	"socket", "connect", "poll",         "sendto", "recvfrom", "setsockopt",
	"write",  "writev",  "memfd_create", NULL,
};

static const char *const listening[] = { "listen", NULL };

/* Whether a task is an arrival, whether a file was carried in. */
static const struct bm_first_argument scan_arguments[] = { { "bpf", BPF_MAP_LOOKUP_ELEM } };

static const struct {
	uint64_t capabilities;
	struct bm_filter filter;
	bool nobody; /* as a user who owns nothing */
} rows[BM_CONFINE_MAX] = {
	/* setns(2) wants SYS_ADMIN and SYS_CHROOT; objects may be anybody's. */
	[BM_CONFINE_LOOK] = { BM_CAP(SYS_ADMIN) | BM_CAP(SYS_CHROOT) | BM_CAP(DAC_OVERRIDE) |
				      BM_CAP(DAC_READ_SEARCH),
			      { .calls = { look } } },
	/* Mount points are made as the Bench's root: SETUID and SETGID. */
	[BM_CONFINE_MOUNT] = { BM_CAP(SYS_ADMIN) | BM_CAP(SYS_CHROOT) | BM_CAP(DAC_OVERRIDE) |
				       BM_CAP(DAC_READ_SEARCH) | BM_CAP(FOWNER) | BM_CAP(SETUID) |
				       BM_CAP(SETGID) | BM_CAP(SYS_PTRACE),
			       { .calls = { look, mounts } } },
	/* And makes a mount namespace of its own, of no other kind. */
	[BM_CONFINE_PIN] = { BM_CAP(SYS_ADMIN) | BM_CAP(SYS_CHROOT) | BM_CAP(DAC_OVERRIDE) |
				     BM_CAP(DAC_READ_SEARCH) | BM_CAP(SYS_PTRACE),
			     { .calls = { look, mounts, pins },
			       .arguments = pin_arguments,
			       .argument_count = 1 } },
	/* Port 80 of a network that is no user namespace's: NET_BIND_SERVICE. */
	[BM_CONFINE_NETWORK] = { BM_CAP(SYS_ADMIN) | BM_CAP(NET_ADMIN) | BM_CAP(NET_BIND_SERVICE),
				 { .calls = { network } } },
	/* Where kernel.unprivileged_userns_clone is 0. */
	[BM_CONFINE_USER] = { BM_CAP(SYS_ADMIN), { .calls = { user } } },
	/* Links in /proc, and the handles of watches. */
	[BM_CONFINE_SCAN] = { BM_CAP(SYS_PTRACE) | BM_CAP(CHECKPOINT_RESTORE) |
				      BM_CAP(DAC_READ_SEARCH) | BM_CAP(BPF),
			      { .calls = { scan },
				.arguments = scan_arguments,
				.argument_count = 1 } },
	/* Of an image, whose files may be anybody's. */
	[BM_CONFINE_READ] = { BM_CAP(DAC_READ_SEARCH), { .calls = { reading } } },
	[BM_CONFINE_OUTPUTS] = { 0, { .calls = { reading } } },
	[BM_CONFINE_ACCESS] = { 0, { .calls = { access_calls } } },
	[BM_CONFINE_RESOLVE] = { 0, { .calls = { resolve } }, .nobody = true },
	[BM_CONFINE_LISTEN] = { 0, { .calls = { listening } }, .nobody = true },
};

/* A change of user also forgets that the helper ends with its parent. */
static int become_nobody(struct bm_error *err)
{
	if (setgroups(0, NULL) < 0 || setresgid(BM_NOBODY, BM_NOBODY, BM_NOBODY) < 0 ||
	    setresuid(BM_NOBODY, BM_NOBODY, BM_NOBODY) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return bm_fail_errno(err, errno, "become nobody");
	return 0;
}

int bm_confine_user(uid_t uid, gid_t gid, struct bm_error *err)
{
	return bm_confine_groups(uid, gid, NULL, 0, err);
}

int bm_confine_groups(uid_t uid, gid_t gid, const gid_t *groups, size_t count, struct bm_error *err)
{
	if (geteuid() == 0) {
		if (setgroups(count, groups) < 0)
			return bm_fail_errno(err, errno, "leave all groups");
		/* These two don't say whether they did it; asked with an id that is none, they do.
		 */
		setfsgid(gid);
		setfsuid(uid);
	}
	if ((gid_t)setfsgid((gid_t)-1) != gid || (uid_t)setfsuid((uid_t)-1) != uid)
		return bm_fail_errno(err, EPERM, "become uid %u", uid);
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? bm_fail_errno(err, errno, "prctl") : 0;
}

int bm_confine(enum bm_confinement what, struct bm_error *err)
{
	int r;

	/* Before the filter, and again by it: without, a helper that gave up SYS_ADMIN gets none.
	 */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return bm_fail_errno(err, errno, "no_new_privs");
	/* Who is not root has no other user to become. */
	r = rows[what].nobody && geteuid() == 0 ? become_nobody(err) : 0;
	if (r == 0)
		r = bm_caps_keep(rows[what].capabilities, err);
	return r < 0 ? r : bm_filter_allow(&rows[what].filter, err);
}
