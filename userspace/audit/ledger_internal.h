/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the ledger share; nobody else includes it. */
#ifndef BENCHMON_LEDGER_INTERNAL_H
#define BENCHMON_LEDGER_INTERNAL_H

#include "audit/head.h"
#include "audit/ledger.h"
#include "audit/scan.h"
#include "base/json.h"

struct bm_owed {
	struct bm_owed *next;
	char *event;
	struct json_object *fields;
};

struct bm_ledger {
	int dir, fd, heads;
	off_t length;   /* of the whole lines; what lies behind is not ours */
	off_t reserved; /* up to there the disk has room for us */
	uint32_t file;
	int slot; /* where the next head goes */
	struct bm_chain head;
	struct bm_key key;
	struct bm_owed *owed;
	size_t owed_count;
	bm_ledger_moved_fn moved;
	void *moved_ctx;
	bool broken;
	bool restating; /* a file is being begun that nobody knows yet: signed and on disk at once
			 */
};

/* A file of root's, or of ours, that others can't write. *ret_fd is locked; flags beside O_RDWR. */
int bm_ledger_open_file(int dirfd, int flags, int *ret_fd, off_t *ret_size, struct bm_error *err);
int bm_ledger_check_file(int fd, const char *name, off_t *ret_size, struct bm_error *err);

/* What is signed. -ENODATA: nothing yet; -EKEYREJECTED: with another key than that (NULL: any). */
int bm_ledger_heads(int dirfd, const char *key, int *ret_fd, struct bm_head *ret, int *ret_slot,
		    struct bm_error *err);

/* Signs where the ledger ends, and tells who watches. -errno. */
int bm_ledger_sign(struct bm_ledger *ledger);

/* Writes a line behind the end, whatever is reserved or owed. */
int bm_ledger_put(struct bm_ledger *ledger, const char *event, struct json_object *fields,
		  struct bm_error *err);

/* "begin" and fields, for a file that continues the ledger's head. NULL: out of memory. */
struct json_object *bm_ledger_begin(const struct bm_ledger *ledger, struct json_object *fields);

/*
 * The first thing that is written to a ledger that was opened: what a power cut tore off, or, of
 * one that is fresh, its beginning, or, of one that was never signed, with which key it is from now
 * on.
 */
int bm_ledger_begun(struct bm_ledger *ledger, off_t torn, bool fresh, struct bm_error *err);

/* Room for what will end; -errno. */
int bm_ledger_reserve(struct bm_ledger *ledger);

bool bm_ledger_full(int code);

#endif
