// SPDX-License-Identifier: GPL-2.0-only
#include "bench/admit.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <linux/capability.h>

#include "base/cleanup.h"
#include "base/io.h"

/* 0 when the process has gone or keeps it from us, which equals no other namespace. */
static ino_t namespace_of(pid_t pid, const char *name)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* A thread of pid in another mount namespace than mnt, or 0: each may unshare one of its own. */
static pid_t thread_elsewhere(pid_t pid, ino_t mnt)
{
	char path[64];
	autoclosedir DIR *threads = NULL;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		/* /proc/TID is there for every thread, also where no readdir shows it. */
		pid_t tid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
		ino_t found = tid ? namespace_of(tid, "mnt") : 0;

		if (found && found != mnt)
			return tid;
	}
	return 0;
}

static const struct {
	int cap;
	const char *name;
} refused[] = {
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" }, { CAP_NET_ADMIN, "CAP_NET_ADMIN" },
	{ CAP_NET_RAW, "CAP_NET_RAW" },     { CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },     { CAP_SYS_MODULE, "CAP_SYS_MODULE" },
	{ CAP_SYS_RAWIO, "CAP_SYS_RAWIO" }, { CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_MKNOD, "CAP_MKNOD" },         { CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
	{ CAP_SYS_BOOT, "CAP_SYS_BOOT" },   { CAP_SYSLOG, "CAP_SYSLOG" },
	{ CAP_MAC_ADMIN, "CAP_MAC_ADMIN" }, { CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE" },
};

uint64_t bm_refused_capabilities(void)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		mask |= 1ull << refused[i].cap;
	return mask;
}

/* The bounding set: what any process in it could ever get, by a set-id file or as root. */
static int check_capabilities(const struct bm_target *target, struct bm_error *err)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (target->bounding & 1ull << refused[i].cap)
			return bm_fail(
				err, EPERM, "capabilities",
				"drop it from the container's bounding set",
				"the container may use %s, with which it could undo the walls",
				refused[i].name);
	return 0;
}

struct members {
	ino_t mnt;
	pid_t stranger;
};

static int find_stranger(void *ctx, pid_t pid)
{
	struct members *m = ctx;

	m->stranger = thread_elsewhere(pid, m->mnt);
	return m->stranger ? 1 : 0;
}

static int check_members(const struct bm_target *target, const struct bm_cgroup_ref *cgroup,
			 struct bm_error *err)
{
	struct members m = { .mnt = target->inode[BM_NS_MNT] };
	int r = bm_cgroup_each(cgroup, find_stranger, &m);

	if (r < 0)
		return bm_fail_errno(err, -r, "cgroup %s", cgroup->path);
	return m.stranger
		       ? bm_fail(err, EBUSY, "own-cgroup", "give the container a cgroup of its own",
				 "cgroup %s also holds process %d of another mount namespace",
				 cgroup->path, m.stranger)
		       : 0;
}

static bool in_cgroup(pid_t pid, const struct bm_cgroup_ref *cgroup)
{
	char path[BM_CGROUP_PATH];
	size_t len = strlen(cgroup->path);

	return bm_cgroup_of_pid(pid, path, NULL) == 0 && !strncmp(path, cgroup->path, len) &&
	       (!path[len] || path[len] == '/');
}

/* Table inet benchmon would drop the packets of everybody in that namespace. */
static int check_network(const struct bm_target *target, const struct bm_cgroup_ref *cgroup,
			 struct bm_error *err)
{
	ino_t net = target->inode[BM_NS_NET];
	autoclosedir DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		return bm_fail_errno(err, errno, "/proc");
	while ((entry = readdir(proc))) {
		pid_t other = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (other && namespace_of(other, "net") == net && !in_cgroup(other, cgroup))
			return bm_fail(
				err, EPERM, "own-network",
				"give the container a network namespace of its own",
				"its network namespace is shared with process %d outside of it",
				other);
	}
	return 0;
}

int bm_admit(const struct bm_target *target, const struct bm_cgroup_ref *cgroup,
	     struct bm_error *err)
{
	int r;

	if (target->inode[BM_NS_MNT] == namespace_of(1, "mnt"))
		return bm_fail(err, EPERM, "container", "give the container's init process",
			       "process %d runs in the host's mount namespace: it is no container",
			       target->pid);
	r = check_network(target, cgroup, err);
	if (r == 0)
		r = check_members(target, cgroup, err);
	if (r == 0)
		r = check_capabilities(target, err);
	return r;
}
