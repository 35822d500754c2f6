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

/* The two halves of it, for a child that somebody else forks; socket is one of a pair. */
_Noreturn void bm_helper_child(int socket, bm_helper_fn fn, void *arg, pid_t parent);
int bm_helper_await(int socket, pid_t pid, int timeout_ms, int *ret_fd, struct bm_error *err);
#define BM_HELPER_MS 30000

#endif
