/* SPDX-License-Identifier: GPL-2.0-only */
/* The network of a Bench: its own namespace, or one that is others' too. */
#ifndef BENCHMON_GATEKEEPERD_NETWORK_H
#define BENCHMON_GATEKEEPERD_NETWORK_H

#include "gatekeeperd/daemon.h"
#include "gatekeeperd/destinations.h"
#include "network/nft.h"

bool bench_shares_net(const struct bench *bench);

/* Where its table is; false when its network namespace is not held any more. */
bool bench_nft(const struct bench *bench, struct bm_nft *ret);
/* The one at the host's end of its link; false when it has none. */
bool bench_link_nft(const struct bench *bench, struct bm_nft *ret);
/* Its table, made anew. A shared namespace is held from then on, whatever becomes of init. */
int bench_nft_setup(struct bench *bench, struct bm_error *err);
/* 0 also when there is none of ours. */
int bench_nft_end(struct bench *bench, struct bm_error *err);
/* After a restart: a shared namespace by its number, while any process is in it. */
void bench_net_find(struct bench *bench);

/* The link or nothing, nft, and the kernel's table last; and back. */
int bench_net_grant(struct daemon *d, struct bench *bench, const struct grant *g,
		    struct bm_error *err);
/* Adds to warnings (an array) which of its hosts can't be reached, and what on the host may swallow
 * its packets. */
void bench_net_warn(const struct bench *bench, const struct grant *g, struct json_object *warnings);
/* Of the part; of a host alone the link stays. *ret_sockets: connections that were ended. found (an
 * array): what else had to be. */
int bench_net_revoke(struct daemon *d, struct bench *bench, const struct reach *reach,
		     struct json_object *found, size_t *ret_sockets, struct bm_error *err);
/* Of the part, these destinations (which is written to): but for what others reach too. */
int net_close(struct daemon *d, struct bench *bench, const struct reach *reach,
	      struct grant_dest *list, size_t count, struct json_object *found, size_t *ret_sockets,
	      struct bm_error *err);
/* What the next hosts of a grant reach, beside what its hosts do. On failure some may be open: the
 * ledger has both. */
int net_open_next(struct daemon *d, struct bench *bench, const struct grant *g,
		  struct bm_error *err);
/* bm_nft_add() or bm_nft_remove() at the host's end of its link first, and then in its own network;
 * each end as a whole or not at all. */
int net_change_nft(const struct bench *bench, const struct bm_nft *nft,
		   const struct bm_destination *list, size_t count,
		   int (*change)(const struct bm_nft *nft, const struct bm_destination *list,
				 size_t count, struct bm_error *err),
		   struct bm_error *err);
/* Into the second layer alone, which had been lost. */
int net_open_nft(const struct grant *g, const struct bm_nft *nft, struct bm_error *err);

#endif
