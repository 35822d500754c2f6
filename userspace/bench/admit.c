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

struct members {
	ino_t mnt;
	pid_t stranger;
};

static int is_stranger(void *ctx, pid_t tid)
{
	struct members *m = ctx;
	ino_t found = namespace_of(tid, "mnt");

	m->stranger = found && found != m->mnt ? tid : 0;
	return m->stranger ? 1 : 0;
}

static int find_stranger(void *ctx, pid_t pid)
{
	return bm_threads_each(pid, is_stranger, ctx);
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

struct sharing {
	const struct bm_target *target;
	uint32_t found;
};

static const enum bm_namespace shareable[] = { BM_NS_PID, BM_NS_NET, BM_NS_UTS, BM_NS_IPC };

static int find_shared(void *ctx, pid_t tid)
{
	struct sharing *s = ctx;

	for (size_t i = 0; i < sizeof(shareable) / sizeof(shareable[0]); i++) {
		enum bm_namespace kind = shareable[i];

		if (!(s->found & 1u << kind) &&
		    namespace_of(tid, bm_namespace_names[kind]) == s->target->inode[kind])
			s->found |= 1u << kind;
	}
	return 0;
}

int bm_namespaces_shared(const struct bm_target *target, const struct bm_cgroup_ref *cgroup,
			 uint32_t *ret, struct bm_error *err)
{
	struct sharing s = { .target = target };
	autoclosedir DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		return bm_fail_errno(err, errno, "/proc");
	while ((entry = readdir(proc))) {
		pid_t other = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (other && !bm_cgroup_holds(cgroup, other))
			bm_threads_each(other, find_shared, &s);
	}
	*ret = s.found;
	return 0;
}

/*
 * Who may mount has perhaps made another root for itself: a directory of the host that looks like
 * a container's. The same goes for who can have made itself a user namespace to do that in, which
 * shows only where the pid namespace was made with the container.
 */
static int check_root(const struct bm_target *target, bool root_known, struct bm_error *err)
{
	bool mounts = target->bounding & 1ull << CAP_SYS_ADMIN;

	if (root_known || (!mounts && (bm_target_is_hosts(target, BM_NS_USER) ||
				       !bm_target_is_hosts(target, BM_NS_PID))))
		return 0;
	return bm_fail(err, EPERM, "own-root", "attach it by its id, as crun has it",
		       "the container %s, so only its runtime can say what its root is",
		       mounts ? "may mount (CAP_SYS_ADMIN)"
			      : "is in a user namespace and in the host's pid namespace");
}

int bm_admit(const struct bm_target *target, const struct bm_cgroup_ref *cgroup, bool root_known,
	     struct bm_error *err)
{
	int r;

	if (bm_target_is_hosts(target, BM_NS_MNT))
		return bm_fail(err, EPERM, "container", "give the container's init process",
			       "process %d runs in the host's mount namespace: it is no container",
			       target->pid);
	r = check_members(target, cgroup, err);
	return r < 0 ? r : check_root(target, root_known, err);
}
