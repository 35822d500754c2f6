/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events as they are kept: appended to a file, and the newest in memory for those who read them.
 * Readers never hold the store up. One that falls behind what memory holds is told how many it
 * missed, exactly, even when it reads one Bench only.
 */
#ifndef BENCHMON_STORE_H
#define BENCHMON_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/names.h"

#define BM_STORE_DIR "/var/log/benchmon"
#define BM_STORE_NAME "events.jsonl"
#define BM_STORE_ROTATED BM_STORE_NAME ".1"
#define BM_STORE_EVENTS 4096
#define BM_STORE_FILE_MAX (16 << 20)

struct bm_store;

/* Opens, or creates with mode 0600, the file in dirfd; dirfd stays the caller's, and open. */
int bm_store_open(int dirfd, struct bm_store **ret, struct bm_error *err);
/* All readers have to be detached before. */
void bm_store_close(struct bm_store *store);
/* The file is rotated before it gets longer; BM_STORE_FILE_MAX until then. */
void bm_store_limit(struct bm_store *store, int64_t bytes);

static inline void bm_store_closep(struct bm_store **store)
{
	bm_store_close(*store);
}

#define autostore __attribute__((cleanup(bm_store_closep))) struct bm_store

/* Opens the file anew, after it was moved away. On failure writes fail until one succeeds. */
int bm_store_reopen(struct bm_store *store);

/*
 * Adds an event, which stays the caller's. -ENOMEM: it is nowhere. Any other failure: it is in
 * memory, could not be written to the file, and was counted in bm_store_unwritten().
 */
int bm_store_add(struct bm_store *store, struct json_object *event);
uint64_t bm_store_unwritten(const struct bm_store *store);

/* One reader; its members belong to the store. */
struct bm_reader {
	struct bm_reader *next;
	struct bm_store *store;
	uint64_t position;
	uint64_t missed;
	uint64_t since;
	char bench[BM_BENCH_NAME_LEN]; /* "": all of them */
	uint32_t owner;                /* 0: of anybody; else what says it is of this one alone */
};

/*
 * Makes a reader of what is in memory and what will come: of one Bench, or of all (NULL), and
 * only events with a seq above since (0: all; events without a seq always pass). It must not
 * move until it is detached.
 */
void bm_reader_attach(struct bm_reader *reader, struct bm_store *store, const char *bench,
		      uint64_t since);
/* From now on only what has this "owner"; 0: whosever. */
void bm_reader_only(struct bm_reader *reader, uint32_t owner);
/* Skips what is there already. */
void bm_reader_skip(struct bm_reader *reader);
/* Where the next event will stand; and a reader that begins no earlier than such a place: the
 * events of an ended Bench are not those of a later one that took its name. */
uint64_t bm_store_position(const struct bm_store *store);
void bm_reader_from(struct bm_reader *reader, uint64_t position);
void bm_reader_detach(struct bm_reader *reader);

/*
 * True: *ret_line is the next line, without newline, until the next bm_store_add(), and
 * *ret_missed the number of lines between it and the one before that this reader should have had
 * and will never get. False: nothing there now.
 */
bool bm_reader_next(struct bm_reader *reader, const char **ret_line, uint64_t *ret_missed);

#endif
