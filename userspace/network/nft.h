/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The second layer: table `inet benchmon` in the Bench's own network namespace, policy drop, with
 * the sealed set in it. It knows nothing of the BPF layer and would hold without it.
 *
 * netns is an fd of the namespace. A forked helper enters it to open the netlink socket; the caller
 * never does. One call is one atomic batch. All are idempotent.
 */
#ifndef BENCHMON_NFT_H
#define BENCHMON_NFT_H

#include <stddef.h>

#include "network/address.h"

/*
 * Table, chains and empty sets, in place of whatever had that name; nothing but loopback, neighbour
 * discovery and inbound "too big" messages passes from then on.
 */
int bm_nft_setup(int netns, struct bm_error *err);
/* -ENOENT: the table is not there. */
int bm_nft_add(int netns, const struct bm_destination *d, struct bm_error *err);
/* 0 also when it was not there. */
int bm_nft_remove(int netns, const struct bm_destination *d, struct bm_error *err);
/* What the sets hold; *ret is the caller's. -ENOENT: the table is not there. */
int bm_nft_list(int netns, struct bm_destination **ret, size_t *ret_count, struct bm_error *err);
/* Removes the table; 0 also when it was not there. */
int bm_nft_destroy(int netns, struct bm_error *err);

#endif
