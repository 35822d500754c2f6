/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a Bench that somebody asked for: halted, looked at, ended, with a receipt. */
#ifndef BENCHMON_ENDING_H
#define BENCHMON_ENDING_H

#include "gatekeeperd/daemon.h"

struct ending;

/*
 * Kills what runs in it (created) or freezes it (attached), looks at what it has written, while the
 * loop goes on, and ends it: bench_end() with event and fields. reply is what is answered, and gets
 * the receipt. Both are taken over. c may be NULL: nobody asks. *ret_reply is the reply where all
 * of that is done already, else it comes later and c takes no request meanwhile. -EBUSY: it is
 * being ended.
 */
int ending_begin(struct daemon *d, struct connection *c, struct bench *bench, const char *event,
		 struct json_object *fields, struct json_object *reply,
		 struct json_object **ret_reply, struct bm_error *err);
/* Nobody waits for the answer any more; the Bench ends all the same. */
void ending_unheard(struct ending *e);
/* Ends helpers that are overdue, and comes again by itself. */
void endings_review(struct daemon *d);
/* Frees those that are over; nothing of this round points at them any more. */
void endings_bury(struct daemon *d);
/* The daemon stops: helpers end, Benches stay as they are. */
void endings_abandon(struct daemon *d);

#endif
