/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A forked helper: does one thing in another namespace and hands back a result, an error and at
 * most one fd, so that the daemon itself never leaves its own namespaces.
 */
#ifndef BENCHMON_HELPER_H
#define BENCHMON_HELPER_H

#include <stddef.h>

#include "base/error.h"

/*
 * Runs fn(arg, &fd, err) in a child and returns what it returned, with its err. fn may set *ret_fd
 * to an fd that arrives here as *ret_fd (pass NULL when none is awaited). The child is killed after
 * 30 s (-ETIMEDOUT); one that dies is -ECHILD.
 */
int bm_helper(int (*fn)(void *arg, int *ret_fd, struct bm_error *err), void *arg, int *ret_fd,
	      struct bm_error *err);

#endif
