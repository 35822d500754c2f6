/* SPDX-License-Identifier: GPL-2.0-only */
/* What is to be granted is searched for secrets by a helper, while the loop goes on. */
#ifndef BENCHMON_SECRETS_SEARCH_H
#define BENCHMON_SECRETS_SEARCH_H

#include "gatekeeperd/daemon.h"
#include "policy/secrets.h"

#define SEARCH_ENTRIES 100000
#define SEARCH_DEPTH 32
#define SEARCH_MS 3000

struct secrets_search;

/* While it goes on, the connection has nothing else to say. */
bool secrets_busy(const struct connection *c);

/*
 * Begins to search the object that is the connection's pending. What is found is judged by
 * secrets_judge(), and what passes is offered. -EBUSY: too many are at it.
 */
int secrets_search_begin(struct daemon *d, struct connection *c, const struct bench *bench,
			 const struct bm_secrets *secrets, struct bm_error *err);

/* Ends its helper; freed with the connection, since the loop may still hold an event of it. */
void secrets_search_abandon(struct daemon *d, struct connection *c);
/* Accepts NULL. */
void secrets_search_free(struct secrets_search *s);

#endif
