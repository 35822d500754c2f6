/* SPDX-License-Identifier: GPL-2.0-only */
/* The ledger piece by piece, for who wants to read it: bounded work at a time. */
#ifndef BENCHMON_PAGE_H
#define BENCHMON_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bm_page {
	int64_t from;      /* 0, or where the page before said to go on */
	uint64_t since;    /* only lines with a number above */
	const char *bench; /* only what is about it; NULL: all */
	uint32_t owner;    /* only what is about this user's Benches; 0: whosever */
	size_t room;       /* bytes of lines */
	uint32_t newest;   /* number of the newest file */
};

/*
 * *ret, an array and the caller's, gets lines as they stand there, checked for nothing; of one that
 * has no room in any page the numbers, the event and "left_out": its bytes. *ret_next is where to
 * go on, 0 at the end; a page may be empty and not the last. What the asker gives as from leads
 * nowhere else: at worst to half of a line, which is skipped.
 */
int bm_ledger_page(int dirfd, const struct bm_page *page, struct json_object **ret,
		   int64_t *ret_next, struct bm_error *err);

#endif
