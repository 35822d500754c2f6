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
/* Its time begins when it is ready: the ledger has its end by the clock that no one sets. */
void lifetime_begin(struct json_object *json, struct bench *bench);
/* Of either line of the ledger; -EBADMSG. */
int lifetime_replay(struct json_object *json, struct bench *bench);

/* Destroys what has outlived its time, and comes again by itself when the next one has. */
void lifetime_review(struct daemon *d);
/* The second half of it: nothing ends in the midst of a request. */
void lifetime_await(struct daemon *d);

#endif
