/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The second layer: table `inet benchmon` in the Bench's own network namespace, policy drop, with
 * the sealed set in it; where the namespace is others' too, a table `inet benchmon-NAME` that looks
 * at nothing but the Bench's sockets. It knows nothing of the BPF layer and would hold without it.
 * Where a link of ours leads to the Bench, the same stands once more on the host, at the link's
 * end, which nothing in the Bench's namespace can reach.
 *
 * A forked helper enters the namespace to open the netlink socket; the caller never does. One call
 * is one atomic batch. All are idempotent.
 */
#ifndef BENCHMON_NFT_H
#define BENCHMON_NFT_H

#include <stddef.h>

#include "network/address.h"

/* Of "benchmon-" and the longest name of a Bench. */
#define BM_NFT_TABLE_LEN 64

struct bm_nft {
	int netns; /* fd of the namespace; -1: the caller's own */
	/* Of a namespace that is shared with others; "": all in it is the Bench's. */
	char table[BM_NFT_TABLE_LEN];
	uint64_t cgroup; /* the Bench's, by which it is told from the others */
	uint32_t level;
	char link[16]; /* or the interface that leads to it; "": by its sockets */
	bool learns;   /* what is not sealed passes, and is counted: bpf/learn_net.h */
};

/*
 * Table, chains and empty sets, in place of whatever had that name; nothing but inbound "too big"
 * messages, and in a namespace of its own loopback and neighbour discovery, passes from then on.
 */
int bm_nft_setup(const struct bm_nft *nft, struct bm_error *err);
/* All of the list or, on failure, none. -ENOENT: the table is not there. */
int bm_nft_add(const struct bm_nft *nft, const struct bm_destination *list, size_t count,
	       struct bm_error *err);
/* The same; 0 also when some were not there, or the table. */
int bm_nft_remove(const struct bm_nft *nft, const struct bm_destination *list, size_t count,
		  struct bm_error *err);
/* What the sets hold; *ret is the caller's. -ENOENT: the table is not there. */
int bm_nft_list(const struct bm_nft *nft, struct bm_destination **ret, size_t *ret_count,
		struct bm_error *err);
/* How many packets it has refused since it was made. -ENOENT: the table is not there. */
int bm_nft_refused(const struct bm_nft *nft, uint64_t *ret_packets, struct bm_error *err);
/* Removes the table; 0 also when it was not there. */
int bm_nft_destroy(const struct bm_nft *nft, struct bm_error *err);

#endif
