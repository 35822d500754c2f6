// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/shrink.h"

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/keyctl.h>

#include "confine/caps.h"
#include "confine/confine.h"
#include "confine/filter.h"

/*
 * For itself, for the helpers it forks (each keeps some of these, confine/confine.c), and for the
 * overlays it mounts: overlayfs works in its layers with what the mounter had.
 */
const uint64_t daemon_capabilities =
	/* bpf(2) on tables and links, also where only root may; cgroup programs by link. */
	BM_CAP(BPF) | BM_CAP(NET_ADMIN) |
	/* Port 80 of a Bench's loopback, for a broker. */
	BM_CAP(NET_BIND_SERVICE) |
	/* Mounts, and entering namespaces. */
	BM_CAP(SYS_ADMIN) | BM_CAP(SYS_CHROOT) |
	/* Maps of user namespaces; mount points made as the Bench's root. */
	BM_CAP(SETUID) | BM_CAP(SETGID) |
	/* Namespaces, descriptors and mappings of processes that are somebody else's. */
	BM_CAP(SYS_PTRACE) | BM_CAP(CHECKPOINT_RESTORE) | BM_CAP(KILL) |
	/* Files of the Bench's users; handles of what a watch is on. The last three: overlayfs. */
	BM_CAP(CHOWN) | BM_CAP(DAC_OVERRIDE) | BM_CAP(DAC_READ_SEARCH) | BM_CAP(FOWNER) |
	BM_CAP(FSETID) | BM_CAP(SETFCAP);

static const char *const files[] = {
	"openat",
	"openat2",
	"open_by_handle_at",
	"name_to_handle_at",
	"fstat",
	"newfstatat",
	"statx",
	"statfs",
	"fstatfs",
	"lseek",
	"pread64",
	"pwrite64",
	"write",
	"writev",
	"readlink",
	"readlinkat",
	"access",
	"faccessat",
	"faccessat2",
	"getdents64",
	"fcntl",
	"flock",
	"fsync",
	"fdatasync",
	"ftruncate",
	"fallocate",
	"copy_file_range",
	"fgetxattr",
	"fsetxattr",
	"fremovexattr",
	"mkdir",
	"mkdirat",
	"mknod",
	"mknodat",
	"rmdir",
	"unlink",
	"unlinkat",
	"linkat",
	"rename",
	"renameat",
	"renameat2",
	"chmod",
	"fchmod",
	"chown",
	"fchown",
	"chdir",
	"fchdir",
	"setfsuid",
	"setfsgid",
	"setgroups",
	"umask",
	NULL,
};

static const char *const mounts[] = {
	"mount",  "umount2",  "open_tree", "move_mount", "mount_setattr",
	"fsopen", "fsconfig", "fsmount",   "pivot_root", NULL,
};

/* Helpers and those that they look at. clone(2) and not clone3(2): fork(3), and no thread. */
static const char *const processes[] = {
	"clone",        "wait4",
	"waitid",       "kill",
	"pidfd_open",   "pidfd_send_signal",
	"kcmp",         "setns",
	"unshare",      "prctl",
	"capget",       "capset",
	"seccomp",      "getppid",
	"membarrier",   "set_robust_list",
	"rseq",         "rt_sigprocmask",
	"rt_sigaction", "tgkill",
	"getuid",       "geteuid",
	"uname",        "close_range",
	NULL,
};

static const char *const waiting[] = {
	"epoll_wait", "epoll_pwait",     "epoll_ctl", "epoll_create1", "poll",
	"ppoll",      "timerfd_settime", "pipe2",     "signalfd4",     NULL,
};

static const char *const sockets[] = {
	"socket",  "socketpair", "bind",       "listen",      "accept4",  "sendto",  "recvfrom",
	"recvmsg", "getsockopt", "setsockopt", "getsockname", "shutdown", "connect", NULL,
};

/* To be told from files of the host, one of each kind is made (bench/held.c). ioctl: namespaces. */
static const char *const odd[] = {
	"memfd_create", "memfd_secret", "io_setup", "io_destroy", "ioctl", NULL,
};

/*
 * Of bpf(2) nothing that loads: the programs are in the kernel by now. Of users none but nobody's,
 * for a helper that becomes it: whoever else one opens files as, it stays root's to signals.
 */
static const struct bm_first_argument arguments[] = {
	{ "bpf", BPF_MAP_LOOKUP_ELEM },
	{ "bpf", BPF_MAP_UPDATE_ELEM },
	{ "bpf", BPF_MAP_DELETE_ELEM },
	{ "bpf", BPF_MAP_GET_NEXT_KEY },
	{ "bpf", BPF_MAP_LOOKUP_BATCH },
	{ "bpf", BPF_OBJ_PIN },
	{ "bpf", BPF_OBJ_GET },
	{ "bpf", BPF_OBJ_GET_INFO_BY_FD },
	{ "bpf", BPF_LINK_CREATE },
	{ "bpf", BPF_ITER_CREATE },
	{ "bpf", BPF_RAW_TRACEPOINT_OPEN },
	/* A broker's credential in root's keyring. */
	{ "keyctl", KEYCTL_SEARCH },
	{ "keyctl", KEYCTL_READ },
	{ "setresgid", BM_NOBODY },
	{ "setresuid", BM_NOBODY },
};

int daemon_filter(struct bm_error *err)
{
	static const struct bm_filter filter = {
		.calls = { files, mounts, processes, waiting, sockets, odd },
		.arguments = arguments,
		.argument_count = sizeof(arguments) / sizeof(arguments[0]),
	};

	return bm_filter_allow(&filter, err);
}

int daemon_shrink(struct bm_error *err)
{
	int r = bm_caps_bound(daemon_capabilities, err);

	if (r == 0)
		r = bm_caps_keep(daemon_capabilities, err);
	return r < 0 ? r : daemon_filter(err);
}
