/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the links change on the host as a whole, and how it goes back: table `inet
 * benchmon_host`, and forwarding on the interfaces that lead to the destinations. What was
 * changed is on record under /run/benchmon/network, so that a daemon started later can undo it.
 */
#ifndef BENCHMON_HOST_H
#define BENCHMON_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Held from before the first until after the last of the calls below; close it to unlock. */
int bm_host_lock(int *ret_fd, struct bm_error *err);

/* The table as the records demand it. Called before there is a link. */
int bm_host_protect(struct bm_error *err);

/*
 * Lets packets pass between the host end of a link and the interface with index uplink, and for
 * nobody else through what had to be turned on. On failure nothing has changed.
 */
int bm_host_forward(const char *host_end, int uplink, struct bm_error *err);

/* Takes all of it back; goes on after an error, and reports the first. */
int bm_host_release(struct bm_error *err);

/* The table alone: host_nft.c. Without `forwarding` nothing passes from or to a link. */
int bm_host_nft_set(const int *uplinks, size_t count, bool forwarding, struct bm_error *err);
int bm_host_nft_destroy(struct bm_error *err);

#endif
