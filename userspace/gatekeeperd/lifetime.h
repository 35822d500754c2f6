/* SPDX-License-Identifier: GPL-2.0-only */
/* What a Bench may use up, and how long it may live. */
#ifndef BENCHMON_LIFETIME_H
#define BENCHMON_LIFETIME_H

#include "gatekeeperd/daemon.h"

/* "limits" of a request to create it; *ret_seconds: its time, 0 for none. */
int limits_of_request(struct json_object *request, struct bm_limits *ret, int64_t *ret_seconds,
		      struct bm_error *err);

/* "limits" and "ends" of a Bench, where it has any: of a reply, and of the ledger. */
void lifetime_add(struct json_object *json, const struct bench *bench);
/* The ledger's too: its end by the clock that no one sets. -EBADMSG. */
void lifetime_record(struct json_object *json, const struct bench *bench);
int lifetime_replay(struct json_object *json, struct bench *bench);

void lifetime_begin(struct bench *bench, int64_t seconds);
/* Destroys what has outlived its time, and comes again by itself when the next one has. */
void lifetime_review(struct daemon *d);

#endif
