/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looking for what a Bench holds, while the loop goes on: it takes as long as the Bench has made
 * it. There is one of a Bench at a time; who comes again once it has answered gets what was found.
 */
#ifndef BENCHMON_SEARCH_H
#define BENCHMON_SEARCH_H

#include "bench/held.h"
#include "gatekeeperd/daemon.h"

/* Whether it is clean is looked at first with its tasks running, and if it seems so, frozen. */
enum search_why { SEARCH_REVOKE, SEARCH_REVIEW, SEARCH_REVIEW_FROZEN };

struct search {
	struct watch watch;  /* first: a watch is cast to its search */
	struct search *next; /* of those that are over */
	struct bm_held_search helper;
	enum search_why why;
	uint32_t bench, grant; /* grant: of SEARCH_REVOKE */
	uint64_t due_ns;       /* CLOCK_BOOTTIME: when it is ended */
	bool late, answered;
	int result; /* of the answer */
	struct bm_error err;
	struct bm_held_list found;
};

/* object and foreign may be NULL. Waited for: at the start, and where nothing else may go on. */
int search_now(struct daemon *d, const struct bench *bench, const struct bm_held_object *object,
	       const struct bm_foreign_list *foreign, struct bm_held_list *ret,
	       struct bm_error *err);
/* There is none yet. */
int search_begin(struct daemon *d, struct bench *bench, enum search_why why, uint32_t grant,
		 const struct bm_held_object *object, struct bm_error *err);
/* What it has found, which ends it: its result, *ret is the caller's. */
int search_take(struct daemon *d, struct bench *bench, struct bm_held_list *ret,
		struct bm_error *err);
static inline bool search_is_of(const struct bench *bench, enum search_why why, uint32_t grant)
{
	return bench->search && bench->search->why == why && bench->search->grant == grant;
}
/* Its tasks have to stand still until it has answered. */
static inline bool search_keeps_still(const struct bench *bench)
{
	return bench->search && !bench->search->answered && bench->search->why != SEARCH_REVIEW;
}
/*
 * Something is done that the answer would not know of; who waits for it comes again and begins
 * another one. What a review kept still is let go; what a revocation did, it will itself.
 */
void search_abandon(struct daemon *d, struct bench *bench);
/* Ends what is overdue; when to come again, 0: never. */
uint64_t search_review(struct bench *bench, uint64_t now_ns);
/* Frees those that are over; nothing of this round points at them any more. */
void searches_bury(struct daemon *d);

#endif
