/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the processes of a Bench hold of files that lie on none of its mounts: descriptors from
 * before, mappings, working directories. The mount says it and not the path: a descriptor keeps
 * the mount it was opened through, also when that has been detached.
 */
#ifndef BENCHMON_HELD_H
#define BENCHMON_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bench/cgroup.h"
#include "bench/foreign.h"
#include "bench/target.h"

enum bm_held_kind {
	BM_HELD_FD,
	BM_HELD_CWD,
	BM_HELD_ROOT,
	BM_HELD_MAPPING,
	BM_HELD_LOCK,  /* a descriptor with a lock or lease on its file */
	BM_HELD_WATCH, /* inotify, fanotify */
	BM_HELD_RING,  /* io_uring: what is registered with it is nobody's descriptor */
	BM_HELD_KIND_MAX,
};
const char *bm_held_kind_name(enum bm_held_kind kind);

struct bm_held {
	enum bm_held_kind kind;
	pid_t pid;
	int fd; /* FD, LOCK, WATCH, RING */
	bool writable, directory;
	uint64_t mount; /* id as in mountinfo */
	uint64_t device, inode;
	char comm[16];
	char path[256]; /* below the root of its mount, as far as the kernel can tell */
};

struct bm_held_list {
	struct bm_held *list;
	size_t count;
};

void bm_held_done(struct bm_held_list *held);
#define autoheld __attribute__((cleanup(bm_held_done))) struct bm_held_list

/* An object whose grant ends: watches on what lies in it are found by that. */
struct bm_held_object {
	int fd; /* O_PATH, through a mount whose root it is; -1: none */
	uint64_t device, inode;
	uint64_t superblock; /* its device as mountinfo has it: btrfs has another for stat */
};

struct bm_held_scan {
	const struct bm_cgroup_ref *cgroup;
	const struct bm_target *target;
	struct bm_held_object object;
	/* Mounts that are as good as detached already. May be NULL. */
	const struct bm_foreign_list *foreign;
	/* True for what the operator or the runtime gave the process itself. May be NULL. */
	bool (*carried)(void *ctx, uint64_t device, uint64_t inode);
	/* True for a process of the runtime's, which is no payload yet. May be NULL. */
	bool (*arrives)(void *ctx, int pidfd);
	/* In the helper, first: closes what the others must be able to close. May be NULL. */
	void (*apart)(void *ctx);
	void *ctx;
};

/*
 * Every task of the cgroup. With its tasks frozen the answer is complete, but for what lies in the
 * queue of a socket: that meets file_receive. Else a process may come by a descriptor meanwhile.
 */
int bm_held_find(const struct bm_held_scan *scan, struct bm_held_list *ret, struct bm_error *err);

/*
 * The same, not waited for: the socket becomes readable when it has come to its end, and
 * bm_held_finish() then takes what it has found; scan->cgroup is looked at again. A Bench may have
 * so much open that it takes minutes.
 */
struct bm_held_search {
	int socket; /* -1: none */
	pid_t pid;
};
#define BM_HELD_MS 120000
int bm_held_start(const struct bm_held_scan *scan, struct bm_held_search *ret,
		  struct bm_error *err);
int bm_held_finish(struct bm_held_search *search, const struct bm_cgroup_ref *cgroup,
		   struct bm_held_list *ret, struct bm_error *err);
void bm_held_abandon(struct bm_held_search *search);

/* An O_PATH fd of what is held, through /proc; -ENOENT when it is gone. */
int bm_held_open(const struct bm_held *held);

#endif
