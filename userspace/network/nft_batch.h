/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One atomic nftables transaction in the inet family: objects are added to a batch, the batch is
 * sent once. An error while building (no memory) is kept and met when sending.
 */
#ifndef BENCHMON_NFT_BATCH_H
#define BENCHMON_NFT_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct mnl_socket;
struct nftnl_rule;

struct bm_batch {
	const char *table;
	char *buf;
	size_t size, used;
	unsigned int first; /* sequence number of the opening message */
	unsigned int count; /* messages to be acknowledged */
	int error;
	struct bm_batch_what {
		const char *action; /* "chain", "rule of" ... */
		const char *name;
	} * what; /* of each message */
};

struct bm_chain {
	const char *name;
	const char *type; /* "filter", "nat"; NULL: no hook's, rules lead to it */
	uint32_t hook;
	int32_t priority;
	uint32_t policy;
};

struct bm_set {
	const char *name;
	uint32_t key_type; /* how nft(8) shows it; nothing to the kernel */
	uint32_t key_len;
	uint32_t id; /* unlike that of any other in the batch */
	/* Rules write into it: how long an element stays, in ms, and how many there are at most. */
	uint64_t timeout;
	uint32_t size;
};

int bm_batch_init(struct bm_batch *b, const char *table, struct bm_error *err);
void bm_batch_free(struct bm_batch *b);
#define autobatch __attribute__((cleanup(bm_batch_free))) struct bm_batch

void bm_batch_add_table(struct bm_batch *b);
void bm_batch_delete_table(struct bm_batch *b);
void bm_batch_add_chain(struct bm_batch *b, const struct bm_chain *chain);
void bm_batch_add_set(struct bm_batch *b, const struct bm_set *set);
/* Takes over rule, which may be NULL (no memory). chain must outlive the batch. */
void bm_batch_add_rule(struct bm_batch *b, const char *chain, struct nftnl_rule *rule);
/* keys: count of them, of len bytes each. */
void bm_batch_add_elements(struct bm_batch *b, const char *set, const void *keys, uint32_t len,
			   size_t count);
void bm_batch_delete_elements(struct bm_batch *b, const char *set, const void *keys, uint32_t len,
			      size_t count);

/*
 * Sends it, and reads the acknowledgement of every message. ignore (0 for none) is an errno of the
 * first message that is success too: nothing has been done then, and nothing had to be. The error
 * names the object that the kernel refused.
 */
int bm_batch_send(struct bm_batch *b, struct mnl_socket *s, int ignore, struct bm_error *err);

#endif
