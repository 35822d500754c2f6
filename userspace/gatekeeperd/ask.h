/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asking and confirming are apart: what has been asked for (asks.h), for those who may see it, and
 * what becomes of it. Confirmed it is granted as anything else is: shown first (grant.c, create.c).
 */
#ifndef BENCHMON_GATEKEEPERD_ASK_H
#define BENCHMON_GATEKEEPERD_ASK_H

#include "gatekeeperd/asks.h"
#include "gatekeeperd/daemon.h"

/* As replies have it: nothing in it that could mislead a terminal. */
struct json_object *ask_describe(const struct ask *ask);

/*
 * It is over: event (confirmed, rejected, expired, void) and fields, which are taken over and may
 * be NULL, go to the ledger and to those who wait for it; then it is gone.
 */
void ask_end(struct daemon *d, struct ask *ask, const char *event, struct json_object *fields);
/* All of a Bench that ends. */
void asks_void(struct daemon *d, const struct bench *bench, const char *why);

/* Ends what nobody decided in time, and awaits the next; after a start too. */
void asks_review(struct daemon *d);

/*
 * ask_confirm.c. Where a message names a request: what was asked for is put into it, as if it had
 * been typed, beside the little that is the operator's own to say. *ret stays NULL where it names
 * none.
 */
int ask_fill(struct daemon *d, const struct connection *c, struct json_object *message, bool bench,
	     struct ask **ret, struct bm_error *err);
/* What the connection shows now is what was asked for by ask, which may be NULL. */
void ask_take_up(struct pending *p, const struct ask *ask);
/* That it still awaits it; 0 also where p answers none. */
int ask_still(struct daemon *d, const struct pending *p, struct ask **ret, struct bm_error *err);
/*
 * What came of it, r, where the ledger had said lines before; with grant NULL a Bench was asked
 * for. A refusal leaves it pending, unless it was of what is there no more (-ESTALE), or it has
 * been recorded as answered. ask may be NULL.
 */
void ask_answered(struct daemon *d, struct connection *c, struct ask *ask, int r, uint64_t said,
		  const char *how, const struct bench *bench, const struct grant *grant);

#endif
