/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ledger: every decision, one line each, in a file that is only appended to. What a line is
 * and what its hash covers: audit/chain.h.
 *
 * The chain shows any change, insertion, removal and reordering of lines. It cannot show that the
 * last lines were cut off; for that the head is to be kept elsewhere too.
 */
#ifndef BENCHMON_LEDGER_H
#define BENCHMON_LEDGER_H

#include <stdint.h>

#include "audit/chain.h"
#include "base/error.h"

#define BM_LEDGER_DIR "/var/lib/benchmon"
#define BM_LEDGER_NAME "ledger.jsonl"

struct bm_ledger;

/*
 * Opens, or creates with mode 0600, the ledger in dirfd (no O_PATH), checks all of it and keeps it
 * locked until it is closed (-EBUSY: another one holds it). A last line that a power cut left half
 * written is replaced by a line with the event "torn" {"bytes"}: its append never returned, so
 * nothing rests on it. Any other damage is -EBADMSG, and the file is left as it is.
 */
int bm_ledger_open(int dirfd, struct bm_ledger **ret, struct bm_error *err);
void bm_ledger_close(struct bm_ledger *ledger);

static inline void bm_ledger_closep(struct bm_ledger **ledger)
{
	bm_ledger_close(*ledger);
}

#define autoledger __attribute__((cleanup(bm_ledger_closep))) struct bm_ledger

/*
 * Adds a line and returns once it is on disk. fields, an object or NULL, stays the caller's. On
 * failure the file is as before; should even that fail, nothing more is taken (-EIO).
 */
int bm_ledger_append(struct bm_ledger *ledger, const char *event, struct json_object *fields,
		     struct bm_error *err);

/* The last line: what a receipt names. Owned by the ledger. */
const struct bm_chain *bm_ledger_head(const struct bm_ledger *ledger);

/* json is the whole line, owned by the caller of fn. */
typedef int (*bm_ledger_fn)(void *ctx, uint64_t n, const char *event, struct json_object *json,
			    struct bm_error *err);

/* Calls fn for each line from the first on, until one returns below 0, which is returned. */
int bm_ledger_replay(struct bm_ledger *ledger, bm_ledger_fn fn, void *ctx, struct bm_error *err);

/*
 * Checks the ledger in dirfd without lock or change; *ret_count is the number of its lines. A
 * torn last line is an error here, and so may be one that is just being written.
 */
int bm_ledger_verify(int dirfd, uint64_t *ret_count, struct bm_error *err);

#endif
