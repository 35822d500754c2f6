/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ledger: every decision, one line each, in a file that is only appended to. What a line is
 * and what its hash covers: audit/chain.h. Where it ends is signed: audit/head.h.
 *
 * Room is kept behind its end: on a full disk nothing is granted any more, and what ends is still
 * written.
 */
#ifndef BENCHMON_LEDGER_H
#define BENCHMON_LEDGER_H

#include <stdint.h>
#include <sys/types.h>

#include "audit/chain.h"
#include "base/error.h"
#include "keys/key.h"

#define BM_LEDGER_DIR "/var/lib/benchmon"
#define BM_LEDGER_NAME "ledger.jsonl"
/* Earlier files: ledger-1.jsonl, ledger-2.jsonl ... */
#define BM_LEDGER_OLD "ledger-"
#define BM_LEDGER_SUFFIX ".jsonl"
#define BM_LEDGER_KEY "ledger.key"
/* Beyond it a new file is begun. */
#define BM_LEDGER_FILE_MAX (64 << 20)
/* Kept free for lines about what has ended. */
#define BM_LEDGER_RESERVE (1 << 20)

struct bm_ledger;

/*
 * Opens, or creates with mode 0600, the ledger in dirfd (no O_PATH; stays the caller's, and open),
 * checks all of its newest file and keeps it locked until it is closed (-EBUSY: another one holds
 * it). It has to reach as far as its signed head, and as pinned, the head that the kernel keeps
 * (NULL or n 0: it keeps none); else, and for any other damage, -EBADMSG, and all is left as it is.
 *
 * A last line that a power cut left half written is replaced by a line with the event "torn"
 * {"bytes"}: its append never returned, so nothing rests on it.
 */
int bm_ledger_open(int dirfd, const struct bm_chain *pinned, struct bm_ledger **ret,
		   struct bm_error *err);
/* What signs where it ends, and receipts: made where there is none and make says so. -ENOENT. */
int bm_ledger_key(int dirfd, bool make, struct bm_key *ret, bool *ret_made, struct bm_error *err);
void bm_ledger_close(struct bm_ledger *ledger);

static inline void bm_ledger_closep(struct bm_ledger **ledger)
{
	bm_ledger_close(*ledger);
}

#define autoledger __attribute__((cleanup(bm_ledger_closep))) struct bm_ledger

/* Called after each line is on disk and signed, and with a new file: where the ledger ends now. */
typedef void (*bm_ledger_moved_fn)(void *ctx, const struct bm_chain *head);
void bm_ledger_watch(struct bm_ledger *ledger, bm_ledger_moved_fn fn, void *ctx);

/* The last line: what a receipt names (bm_head_text()). Owned by the ledger. */
const struct bm_chain *bm_ledger_head(const struct bm_ledger *ledger);
/* Bytes of the newest file, and its number. */
off_t bm_ledger_size(const struct bm_ledger *ledger);
uint32_t bm_ledger_file(const struct bm_ledger *ledger);

/*
 * Adds a line and returns once it is on disk. fields, an object or NULL, stays the caller's. On
 * failure the file is as before; should even that fail, nothing more is taken (-EIO). -ENOSPC,
 * -EDQUOT, -EFBIG: full, or so full that what ends would have no room, or a line is owed.
 */
int bm_ledger_append(struct bm_ledger *ledger, const char *event, struct json_object *fields,
		     struct bm_error *err);

/*
 * The same for what has happened already and must not be held up: it may use the room that is kept,
 * and where even that is full the line is owed (1): kept in memory, with the time it is of, and
 * written before any other. What a crash takes of it the next start finds out again.
 */
int bm_ledger_owe(struct bm_ledger *ledger, const char *event, struct json_object *fields,
		  struct bm_error *err);
/* How many lines are owed; bm_ledger_settle() writes what has room, and returns the same. */
size_t bm_ledger_owed(const struct bm_ledger *ledger);
size_t bm_ledger_settle(struct bm_ledger *ledger);

/* json is the whole line, owned by the caller of fn. */
typedef int (*bm_ledger_fn)(void *ctx, uint64_t n, const char *event, struct json_object *json,
			    struct bm_error *err);

/*
 * Calls fn for each line of the newest file from the first on, until one returns below 0, which is
 * returned.
 */
int bm_ledger_replay(struct bm_ledger *ledger, bm_ledger_fn fn, void *ctx, struct bm_error *err);

/*
 * Begins a new file, complete or not at all: its first line, "begin", has fields and names the head
 * of the file before; fn then adds, by bm_ledger_append(), what a replay has to know of that: lines
 * with the event "state". *ret_old gets the name that the file before has now.
 */
int bm_ledger_rotate(struct bm_ledger *ledger, struct json_object *fields,
		     int (*fn)(void *ctx, struct bm_error *err), void *ctx, char ret_old[64],
		     struct bm_error *err);

/*
 * Goes on with a ledger that bm_ledger_open() refuses: what is whole of its newest file stays, all
 * of it is kept beside (the name is in the line "accepted" that is added, with by, why it was
 * refused, and the heads it should have had). -EALREADY: nothing is wrong with it. dry: changes
 * nothing. *ret, the fields of that line, is the caller's; *ret_head is where the ledger ends then.
 */
int bm_ledger_accept(int dirfd, const struct bm_chain *pinned, struct json_object *by, bool dry,
		     struct json_object **ret, struct bm_chain *ret_head, struct bm_error *err);

#endif
