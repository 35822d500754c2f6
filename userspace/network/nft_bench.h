/* SPDX-License-Identifier: GPL-2.0-only */
/* What the table in a Bench's network namespace consists of. */
#ifndef BENCHMON_NFT_BENCH_H
#define BENCHMON_NFT_BENCH_H

#include "network/nft.h"
#include "network/nft_batch.h"

#define BM_NFT_TABLE "benchmon"
/* address . protocol . port, a register (4 bytes) each but for the IPv6 address (16) */
#define BM_NFT_SET4 "sealed4"
#define BM_NFT_SET6 "sealed6"
/* The same of a peer's address and a port of the Bench's. */
#define BM_NFT_LISTEN4 "listen4"
#define BM_NFT_LISTEN6 "listen6"
#define BM_NFT_KEY4_LEN 12
#define BM_NFT_KEY6_LEN 24

/* Adds sets, chains and rules to a batch that has made the table. */
void bm_nft_bench_table(struct bm_batch *b, const struct bm_nft *nft);

#endif
