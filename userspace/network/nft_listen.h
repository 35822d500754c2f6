/* SPDX-License-Identifier: GPL-2.0-only */
/* Part of nft_bench.c: who may open connections to which port of the Bench's. */
#ifndef BENCHMON_NFT_LISTEN_H
#define BENCHMON_NFT_LISTEN_H

#include "network/nft_batch.h"

void bm_nft_listen_sets(struct bm_batch *b);
/* Before the rule that lets no connection in. chain: what comes to the Bench, and what leaves. */
void bm_nft_listen_in(struct bm_batch *b);
/* Behind those against fragments and options. */
void bm_nft_listen_out(struct bm_batch *b);

#endif
