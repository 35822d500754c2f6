/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of events: events.jsonl, and those it was before, events-N.jsonl, which become
 * events-N.jsonl.gz piece by piece and are removed by size and age, the oldest first.
 */
#ifndef BENCHMON_STORED_H
#define BENCHMON_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include <zlib.h>

#define BM_STORE_NAME "events.jsonl"

struct bm_stored {
	uint64_t number;
	bool zipped;
};

struct bm_stored_limits {
	int64_t file_bytes;  /* it is rotated before it gets longer */
	int64_t total_bytes; /* of those before it, as they lie there */
	int64_t seconds;     /* since one was written to last */
};

/* Those before the newest, the oldest first; of one in both forms the plain one. The caller's. */
int bm_stored_list(int dirfd, struct bm_stored **ret, size_t *ret_count);
/* "events-7.jsonl", "events-7.jsonl.gz"; returns buf. */
#define BM_STORED_NAME 48
const char *bm_stored_name(uint64_t number, bool zipped, char buf[BM_STORED_NAME]);
/* Moves events.jsonl away under the next number. */
int bm_stored_rotate(int dirfd);
/* Removes what is too much or too old. */
void bm_stored_prune(int dirfd, const struct bm_stored_limits *limits);

/* One that is being compressed. */
struct bm_packing {
	int in; /* below 0: none is */
	gzFile out;
	uint64_t number;
};

#define BM_PACKING_NONE ((struct bm_packing){ .in = -1 })
/*
 * Compresses another piece. 1: there is more to do; 0: nothing is left; -errno: tried again with
 * the next file that is rotated.
 */
int bm_pack(struct bm_packing *packing, int dirfd);
/* What was begun begins anew the next time. */
void bm_pack_abandon(struct bm_packing *packing, int dirfd);

#endif
