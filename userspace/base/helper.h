/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A forked helper: does one thing in another namespace and hands back a result, an error and at
 * most one fd, so that the daemon itself never leaves its own namespaces.
 */
#ifndef BENCHMON_HELPER_H
#define BENCHMON_HELPER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

typedef int (*bm_helper_fn)(void *arg, int *ret_fd, struct bm_error *err);

/*
 * Runs fn(arg, &fd, err) in a child and returns what it returned, with its err. fn may set *ret_fd
 * to an fd that arrives here as *ret_fd (pass NULL when none is awaited). The child is killed after
 * 30 s (-ETIMEDOUT); one that dies is -ECHILD. fn begins by confining itself (confine/confine.h).
 */
int bm_helper(bm_helper_fn fn, void *arg, int *ret_fd, struct bm_error *err);

/* The same, killed after timeout_ms. */
int bm_helper_within(int timeout_ms, bm_helper_fn fn, void *arg, int *ret_fd, struct bm_error *err);

/*
 * The same, not waited for: *ret_socket becomes readable when it has answered or ended, and
 * bm_helper_await() then takes the answer. Before that the caller may give it up: bm_helper_end().
 * Of the caller's fds above 2 it has keep (-1: none) alone: what it looks at is a stranger's.
 */
int bm_helper_start(bm_helper_fn fn, void *arg, int keep, int *ret_socket, pid_t *ret_pid,
		    struct bm_error *err);
/* As keep: all of them. */
#define BM_HELPER_ALL (-2)
/* Kills and reaps it, closes *socket and leaves -1 there; nothing when it is -1 already. */
void bm_helper_end(int *socket, pid_t pid);

/* The two halves of it, for a child that somebody else forks; socket is one of a pair. */
_Noreturn void bm_helper_child(int socket, bm_helper_fn fn, void *arg, pid_t parent);
int bm_helper_await(int socket, pid_t pid, int timeout_ms, int *ret_fd, struct bm_error *err);
#define BM_HELPER_MS 30000

#endif
