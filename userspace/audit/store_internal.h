/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_STORE_INTERNAL_H
#define BENCHMON_STORE_INTERNAL_H

#include "audit/peek.h"
#include "audit/store.h"
#include "audit/told.h"

struct entry {
	char *line; /* NULL: none yet */
	struct bm_line is;
};

struct bm_store {
	int dirfd;
	int fd;
	uint64_t added; /* position of the next entry; position % BM_STORE_EVENTS is its place */
	uint64_t unwritten, rotations;
	struct bm_stored_limits limits;
	struct bm_packing packing;
	bool busy;
	struct bm_told told;
	struct bm_reader *readers;
	struct entry entries[BM_STORE_EVENTS];
};

/* reader.c: the entry makes room. A reader that has not come to it will never see it. */
void bm_readers_evict(struct bm_store *store, const struct entry *entry);

#endif
