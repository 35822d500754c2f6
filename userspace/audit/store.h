/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events as they are kept: appended to files (stored.h), and the newest in memory for those who
 * read them. Readers never hold the store up. One that falls behind what memory holds is told how
 * many it missed, exactly, even when it reads one Bench only; or it has asked for all behind a
 * number, and goes on from the files.
 */
#ifndef BENCHMON_STORE_H
#define BENCHMON_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/stored.h"
#include "base/error.h"
#include "base/names.h"

#define BM_STORE_DIR "/var/log/benchmon"
#define BM_STORE_EVENTS 4096
#define BM_STORE_FILE_MAX (16 << 20)

struct bm_store;
struct bm_history;

/*
 * Opens, or creates with mode 0600, the file in dirfd; dirfd stays the caller's, and open. The end
 * of what is in it comes into memory.
 */
int bm_store_open(int dirfd, struct bm_store **ret, struct bm_error *err);
/* All readers have to be detached before. */
void bm_store_close(struct bm_store *store);
/* BM_STORE_FILE_MAX, and nothing is removed, until then. */
void bm_store_limit(struct bm_store *store, const struct bm_stored_limits *limits);

static inline void bm_store_closep(struct bm_store **store)
{
	bm_store_close(*store);
}

#define autostore __attribute__((cleanup(bm_store_closep))) struct bm_store

/* Opens the file anew, after it was moved away. On failure writes fail until one succeeds. */
int bm_store_reopen(struct bm_store *store);

/*
 * Adds an event, which stays the caller's. -ENOMEM: it is nowhere. Any other failure: it is in
 * memory, could not be written to the file, and was counted in bm_store_unwritten(). Of a Bench
 * (with an "id") the file says which numbers are missing as soon as it takes something again.
 */
int bm_store_add(struct bm_store *store, struct json_object *event);
uint64_t bm_store_unwritten(const struct bm_store *store);

/* The last number of a Bench that is in the file, or is said there to be missing; 0. */
uint64_t bm_store_told(const struct bm_store *store, uint32_t id);
/* Of a Bench that has ended, when all of it is told; and at a start of all that are not alive. */
void bm_store_forget(struct bm_store *store, uint32_t id);
void bm_store_keep(struct bm_store *store, bool (*alive)(void *ctx, uint32_t id), void *ctx);

/* Something is left to be done that takes its time. */
bool bm_store_busy(const struct bm_store *store);
/* A piece of that; and what has grown old is removed. */
void bm_store_work(struct bm_store *store);

/* One reader; its members belong to the store. */
struct bm_reader {
	struct bm_reader *next;
	struct bm_store *store;
	struct bm_history *history; /* reads the files, until it has come to what is in memory */
	uint64_t position;
	uint64_t missed;
	uint64_t since;
	uint64_t told;                 /* resumes: the last number it got */
	uint64_t rotations;            /* of the store, when history was opened */
	uint32_t telling;              /* resumes: of which Bench of that name */
	char bench[BM_BENCH_NAME_LEN]; /* "": all of them */
	uint32_t id;                   /* its number, and not a namesake's; 0: all of that name */
	uint32_t owner;                /* 0: of anybody; else what says it is of this one alone */
	bool resumes;                  /* all behind since, wherever it is stored */
};

/*
 * Makes a reader of what is in memory and what will come: of one Bench, or of all (NULL), and
 * only events with a number above since (0: all; what has none passes where it came later). It must
 * not move until it is detached.
 */
void bm_reader_attach(struct bm_reader *reader, struct bm_store *store, const char *bench,
		      uint64_t since);
/* From now on only what has this "owner"; 0: whosever. */
void bm_reader_only(struct bm_reader *reader, uint32_t owner);
/* The events of an ended Bench are not those of a later one that took its name. */
void bm_reader_of(struct bm_reader *reader, uint32_t id);
/* Of one Bench: from the files too, whatever memory has of it. */
int bm_reader_resume(struct bm_reader *reader);
/* Skips what is there already. */
void bm_reader_skip(struct bm_reader *reader);
void bm_reader_detach(struct bm_reader *reader);

enum bm_reader_state {
	BM_READER_EMPTY, /* nothing there now */
	BM_READER_LINE,
	BM_READER_MORE, /* it has looked at much without finding one, and is to be asked again */
};

/*
 * BM_READER_LINE: *ret_line is the next line, without newline, until the next bm_store_add() or
 * bm_reader_next() of the same reader, and *ret_missed the number of lines between it and the one
 * before that this reader should have had and will never get.
 */
enum bm_reader_state bm_reader_next(struct bm_reader *reader, const char **ret_line,
				    uint64_t *ret_missed);

#endif
