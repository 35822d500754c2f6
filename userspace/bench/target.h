/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The container behind a Bench, held by fds that were opened while its tasks were frozen: init may
 * unshare, chroot, die, or its pid be reused, and this stays what was looked at.
 */
#ifndef BENCHMON_TARGET_H
#define BENCHMON_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum bm_namespace {
	BM_NS_PID,
	BM_NS_MNT,
	BM_NS_NET,
	BM_NS_UTS,
	BM_NS_IPC,
	BM_NS_CGROUP,
	BM_NS_USER,
	BM_NS_MAX,
};
extern const char *const bm_namespace_names[BM_NS_MAX];

struct bm_target {
	pid_t pid;
	int ns[BM_NS_MAX];
	uint64_t inode[BM_NS_MAX]; /* their numbers, for the ledger */
	/* O_PATH: the root of the mount namespace, not init's own; before the runtime has pivoted,
	 * what is going to be that. */
	int root;
	uint64_t bounding; /* capabilities that any process in it could get */
	uid_t uid;         /* its root's ids outside */
	gid_t gid;
};
#define BM_TARGET_NONE ((struct bm_target){ .ns = { -1, -1, -1, -1, -1, -1, -1 }, .root = -1 })

/*
 * rootfs is NULL, or the path where a runtime that runs its createRuntime hooks has mounted the
 * root file system in the container's mount namespace: -ESTALE when it has pivoted there already,
 * so that its payload may run. -EPERM, rule "namespaces": its mount, network and pid namespaces do
 * not belong to one user namespace, init's own, and are not the host's: init has left what the
 * runtime made for it.
 */
int bm_target_open(pid_t pid, const char *rootfs, struct bm_target *ret, struct bm_error *err);
/* True for the namespace that the host's init is in. */
bool bm_target_is_hosts(const struct bm_target *target, enum bm_namespace kind);
/* What is mounted in it, as seen from its root. */
struct bm_mounts;
int bm_target_mounts(const struct bm_target *target, struct bm_mounts *ret, struct bm_error *err);
/* Its mountinfo, to be read whenever. It holds the namespace. */
int bm_target_mountinfo(const struct bm_target *target, int *ret_fd, struct bm_error *err);
/* Accepts what is closed already. */
void bm_target_close(struct bm_target *target);
#define autotarget __attribute__((cleanup(bm_target_close))) struct bm_target

#endif
