/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a ledger is what was written: all of its files, by anybody who can read them. */
#ifndef BENCHMON_VERIFY_H
#define BENCHMON_VERIFY_H

#include "audit/scan.h"

struct bm_verify {
	struct bm_mark *marks; /* heads from elsewhere: the kernel's, a receipt's */
	size_t mark_count;
	const char
		*key; /* public, in hex, that the heads have to be signed with; NULL: as it names */
	bool ours;    /* its files have to be the caller's, and no one else's to write */
};

/*
 * Checks the ledger in dirfd without lock or change, also while it is being written to. *ret, the
 * caller's, is what there is:
 *
 *   {"lines": N, "first": N, "last": N, "hash": HEX, "key": HEX?, "signed": time?, "unsigned": N,
 *    "accepted": number?, "torn": bytes?, "files": [{"name", "first"?, "last"?, "state":
 * "whole"|"missing"|"compressed"}]}
 *
 * -EBADMSG: it is not, and err and *ret_break (which may be NULL) say where and how; -EKEYREJECTED:
 * its heads are signed with another key.
 */
int bm_ledger_verify(int dirfd, const struct bm_verify *how, struct json_object **ret,
		     struct bm_break *ret_break, struct bm_error *err);

#endif
