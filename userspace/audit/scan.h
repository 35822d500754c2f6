/* SPDX-License-Identifier: GPL-2.0-only */
/* One file of the ledger, read from its first line to its last. */
#ifndef BENCHMON_SCAN_H
#define BENCHMON_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/chain.h"
#include "keys/key.h"

enum bm_break_kind {
	BM_BREAK_NONE,
	BM_BREAK_CHANGED,
	BM_BREAK_INSERTED,
	BM_BREAK_REMOVED,
	BM_BREAK_REORDERED,
	BM_BREAK_TRUNCATED,
	BM_BREAK_MAX,
};
const char *bm_break_name(enum bm_break_kind kind);

/* Where a chain breaks, as far as that can be told. */
struct bm_break {
	enum bm_break_kind kind;
	char file[64];
	uint64_t line; /* in that file, from 1; where something is missing, the line behind it */
};

/* A line that is known from elsewhere: from a signed head, the kernel, a log, a receipt. */
struct bm_mark {
	struct bm_chain at; /* n 0: nothing is known */
	const char *who;    /* "the signed head" */
	bool seen, same;
};

struct bm_scan {
	struct bm_chain before;  /* what the first line continues */
	struct bm_chain head;    /* the last line that is whole and in its place */
	uint32_t file;           /* its number; 1 where it says none */
	char key[BM_KEY_ID_LEN]; /* that signs its heads from here on; "": it names none */
	uint64_t lines;
	uint64_t decisions; /* of these, lines that are more than a restatement */
	uint64_t accepted;  /* the last number in front of which something was lost, and that
			       accepted */
	off_t length;       /* of these lines */
	off_t torn;         /* bytes behind, that can be the rest of a write a power cut ended */
};

typedef int (*bm_scan_fn)(void *ctx, uint64_t n, const char *event, struct json_object *json,
			  struct bm_error *err);

struct bm_scan_of {
	int fd;
	off_t end;
	const char *name;             /* for what is said about it */
	const struct bm_chain *start; /* what it has to continue; NULL: what it says itself */
	struct bm_mark *marks;        /* get seen, and same where the line is that one */
	size_t mark_count;
	uint64_t signed_n; /* a line up to this number is no torn one: it was on disk */
	bm_scan_fn fn;     /* NULL: none */
	void *ctx;
};

/*
 * -EBADMSG: err and *ret_break (which may be NULL) say where and how the chain breaks, and *ret
 * tells of the lines before. A failure of fn is returned as it is.
 */
int bm_scan(const struct bm_scan_of *of, struct bm_scan *ret, struct bm_break *ret_break,
	    struct bm_error *err);

/*
 * What becomes of a line that doesn't follow last (the line in front of it; before: the one in
 * front of that). The line stands at offset at, as line number line of its file. Returns -EBADMSG.
 */
int bm_scan_diagnose(const struct bm_scan_of *of, const struct bm_chain *before,
		     const struct bm_chain *last, off_t at, uint64_t line, struct bm_break *ret,
		     struct bm_error *err);

/* Fills both and returns -EBADMSG. ret may be NULL. */
__attribute__((format(printf, 6, 7))) int bm_scan_broken(struct bm_break *ret, struct bm_error *err,
							 enum bm_break_kind kind, const char *file,
							 uint64_t line, const char *fmt, ...);

/* The marks that lie on another line than theirs, or, of the newest file, behind the last. */
int bm_scan_check_marks(const struct bm_scan_of *of, const struct bm_scan *scan, bool newest,
			struct bm_break *ret, struct bm_error *err);

/* The lines behind the signed head: what a crash allows, and no more. */
int bm_scan_check_tail(const struct bm_scan_of *of, const struct bm_scan *scan,
		       const struct bm_chain *signed_head, struct bm_break *ret,
		       struct bm_error *err);

#endif
