/* SPDX-License-Identifier: GPL-2.0-only */
/* cgroup v2: finding, freezing, killing, removing. */
#ifndef BENCHMON_CGROUP_H
#define BENCHMON_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define BM_CGROUP_PATH 512

struct bm_cgroup_ref {
	int fd;                    /* the directory */
	uint64_t id;               /* as bpf_get_current_ancestor_cgroup_id() gives it */
	uint32_t level;            /* 0 is the root */
	char path[BM_CGROUP_PATH]; /* below the v2 root: "/benchmon/b1" */
	unsigned wait_ms;          /* for it to freeze, thaw or end; 0: 10 s */
};
#define BM_CGROUP_NONE ((struct bm_cgroup_ref){ .fd = -1 })

void bm_cgroup_close(struct bm_cgroup_ref *ref);
#define autocgroup __attribute__((cleanup(bm_cgroup_close))) struct bm_cgroup_ref

/* Where cgroup v2 is mounted, also on a hybrid host; NULL when there is none (v1 only). */
const char *bm_cgroup_root(void);

/* The v2 cgroup of a task. -EXDEV: it has none of its own (v1 container). */
int bm_cgroup_of_pid(pid_t pid, char ret_path[BM_CGROUP_PATH], struct bm_error *err);
/* path below the root, with or without the mount point before it. */
int bm_cgroup_open(const char *path, struct bm_cgroup_ref *ret, struct bm_error *err);
/* Makes the cgroup /NAME with the controllers of its parent switched on for children. */
int bm_cgroup_make_slice(const char *name, struct bm_error *err);

/* Returns when every task in it has left the kernel (or runs again). -ETIMEDOUT: it goes on. */
int bm_cgroup_freeze(const struct bm_cgroup_ref *ref, bool freeze, struct bm_error *err);
/* True when it has been told to freeze. */
bool bm_cgroup_frozen(const struct bm_cgroup_ref *ref);
/*
 * For a moment, unless it is frozen already (*ret_was): it says on itself that it was meant for a
 * moment, so that a daemon that was killed meanwhile leaves nothing frozen that nobody froze. On
 * failure it may be left so.
 */
int bm_cgroup_pause(const struct bm_cgroup_ref *ref, bool *ret_was, struct bm_error *err);
/* And goes on, unless it was frozen before. */
int bm_cgroup_resume(const struct bm_cgroup_ref *ref, bool was, struct bm_error *err);
/* True when it was to be frozen for a moment, which is over: nobody is there who would thaw it. */
bool bm_cgroup_forgotten(const struct bm_cgroup_ref *ref);
/*
 * For good: until bm_cgroup_stopped() it says on itself that this is not recorded yet. Waits for
 * nothing: -EAGAIN, when a task has yet to leave the kernel; *ret_events (the caller's) is then
 * ready for POLLPRI when it is worth calling again.
 */
int bm_cgroup_stop(const struct bm_cgroup_ref *ref, int *ret_events, struct bm_error *err);
bool bm_cgroup_stopping(const struct bm_cgroup_ref *ref);
void bm_cgroup_stopped(const struct bm_cgroup_ref *ref);
/*
 * From here to its bm_cgroup_resume() it is frozen for a moment, unless the record still says for
 * good: then it stays.
 */
int bm_cgroup_going_on(const struct bm_cgroup_ref *ref, struct bm_error *err);
void bm_cgroup_stays(const struct bm_cgroup_ref *ref);
/* Kills every task in it and below and waits for their end. -ETIMEDOUT. */
int bm_cgroup_kill(const struct bm_cgroup_ref *ref, struct bm_error *err);
/* Removes it and its children; 0 also when it is gone. */
int bm_cgroup_remove(const char *path, struct bm_error *err);

/* The ids of it and of those below, outermost first; *ret is the caller's. */
int bm_cgroup_ids(const struct bm_cgroup_ref *ref, uint64_t **ret, size_t *ret_count);

/* True for a process in it or below. */
bool bm_cgroup_holds(const struct bm_cgroup_ref *ref, pid_t pid);

/* Calls fn for each thread of a process, until fn returns something but 0; returns that. */
int bm_threads_each(pid_t pid, int (*fn)(void *ctx, pid_t tid), void *ctx);
/* Calls fn for each process in it and below, until fn returns something but 0; returns that. */
int bm_cgroup_each(const struct bm_cgroup_ref *ref, int (*fn)(void *ctx, pid_t pid), void *ctx);

#endif
