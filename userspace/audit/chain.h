/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One line of the ledger and its place in the hash chain:
 *
 *   {"n":N,"time":"...","event":"...",FIELDS,"prev":"HEX","hash":"HEX"}
 *
 * hash is BLAKE2b-256 over the bytes of the line from its '{' up to, and without, the last
 * `,"hash":"`. prev is the hash of line N - 1, 64 zeros in line 1. n counts from 1 without a gap.
 */
#ifndef BENCHMON_CHAIN_H
#define BENCHMON_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

#define BM_HASH_LEN 65 /* in hex, with its NUL */

#define BM_CHAIN_REMEDY                                                                            \
	"find out who changed it and restore it from a copy, or go on without it: gatekeeperd "    \
	"--accept-ledger"

/* The last line so far. */
struct bm_chain {
	uint64_t n;
	char hash[BM_HASH_LEN];
};

/* Before the first line. */
void bm_chain_start(struct bm_chain *ret);
static inline bool bm_chain_equal(const struct bm_chain *a, const struct bm_chain *b)
{
	return a->n == b->n && !strcmp(a->hash, b->hash);
}

/* What a line says of its place, whether or not it has it. */
struct bm_link {
	bool sealed; /* its hash is that of its bytes, and the rest is what a line has */
	uint64_t n;
	char prev[BM_HASH_LEN], hash[BM_HASH_LEN];
};
void bm_chain_peek(const char *line, size_t len, struct bm_link *ret);

/*
 * Makes the line that follows head, with its newline; *ret_line is the caller's and *ret_next
 * the head after it. -EINVAL: fields hold a key of the line itself; -EMSGSIZE; -EBADMSG: fields
 * that could be written but not read back (invalid UTF-8, nested too deep).
 */
int bm_chain_seal(const struct bm_chain *head, uint64_t realtime_ns, const char *event,
		  struct json_object *fields, char **ret_line, size_t *ret_len,
		  struct bm_chain *ret_next, struct bm_error *err);

/* True when the line's hash is that of its bytes. line comes without its newline. */
bool bm_chain_sealed(const char *line, size_t len);

/*
 * True when what follows the last newline, or an unsealed last line, can be the rest of a write
 * that a power cut ended. It cannot when a sealed line stands at its beginning and more than
 * unwritten blocks behind it: there a newline was damaged, and cutting would take away a decision
 * that was in force.
 */
bool bm_chain_torn(const char *tail, size_t len);

/*
 * Checks that the sealed line follows head and moves head on to it. what names the line in the
 * error. *ret, which may be NULL, is the caller's.
 */
int bm_chain_follow(struct bm_chain *head, const char *line, size_t len, const char *what,
		    struct json_object **ret, struct bm_error *err);

#endif
