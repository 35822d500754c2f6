/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Receipts: what a Bench was given and what it did, one file each, STATE/receipts/NAME-ID.json:
 *
 *   {"schema":"benchmon-receipt/1",...,"key":"HEX","signature":"HEX"}
 *
 * signature is Ed25519 over BM_RECEIPT_DOMAIN and the bytes of the file from its '{' up to, and
 * without, the last `,"signature":"`: so also over the public key that is named. What is in
 * between: receipt.schema.json.
 */
#ifndef BENCHMON_RECEIPT_H
#define BENCHMON_RECEIPT_H

#include <stddef.h>
#include <stdint.h>

#include "audit/chain.h"
#include "base/error.h"
#include "base/names.h"

#define BM_RECEIPT_DIR "receipts"
#define BM_RECEIPT_SCHEMA "benchmon-receipt/1"
#define BM_RECEIPT_DOMAIN "benchmon receipt 1\n"
#define BM_RECEIPT_MAX (8 << 20) /* bytes of one */
/* Of one owner, where nothing else is set: the newest, in no more bytes; and of all together. */
#define BM_RECEIPTS_EACH 512
#define BM_RECEIPTS_EACH_BYTES (128ull << 20)
#define BM_RECEIPTS_ALL 2048

/* Ed25519, as libsodium has it. secret may be NULL where nothing is signed. */
struct bm_receipt_key {
	const uint8_t *secret, *public; /* 64 and 32 bytes, the caller's */
};

/* Signs json. *ret_text, one line with its newline, is the caller's. -EFBIG. */
int bm_receipt_sign(struct json_object *json, const struct bm_receipt_key *key, char **ret_text,
		    size_t *ret_len, struct bm_error *err);
/*
 * -EBADMSG: no receipt, or not as it was signed; -EKEYREJECTED: signed with another key, or one
 * that only it names. *ret, which may be NULL, is the caller's.
 */
int bm_receipt_check(const char *text, size_t len, const struct bm_receipt_key *key,
		     struct json_object **ret, struct bm_error *err);
/* BLAKE2b-256 of the whole file, in hex: what the ledger names it by. */
void bm_receipt_digest(const char *text, size_t len, char ret[BM_HASH_LEN]);

#define BM_RECEIPT_NAME_LEN (BM_BENCH_NAME_LEN + 16)
/* "b1-7.json"; returns buf. */
const char *bm_receipt_name(const char *bench, uint32_t id, char buf[BM_RECEIPT_NAME_LEN]);
/* With its ".json" or without; -EINVAL. */
int bm_receipt_name_parse(const char *name, char ret_bench[BM_BENCH_NAME_LEN], uint32_t *ret_id);

/*
 * On disk, all of it, when it returns 0; else nothing of it is left. One of that name is replaced.
 * Then drops the oldest ones of each owner who has more than that many, and where all of them are
 * too many, of the owner who has most: nobody's are pushed out by who has more.
 */
int bm_receipt_put(int state_dir, const char *name, const char *text, size_t len, size_t each,
		   struct bm_error *err);
/*
 * A regular file of root's, or of who asks, that others can't write; *ret_fd is the caller's.
 * -ENOENT; -EPERM.
 */
int bm_receipt_open(int state_dir, const char *name, int *ret_fd, struct bm_error *err);
/* All of it, the caller's. */
int bm_receipt_read(int state_dir, const char *name, char **ret_text, size_t *ret_len,
		    struct bm_error *err);

struct bm_receipt_entry {
	char bench[BM_BENCH_NAME_LEN];
	uint32_t id;
	uint64_t size;
	int64_t written; /* seconds of CLOCK_REALTIME */
};

/*
 * Whose Bench it is of; 0: root's, or nobody's of which it says so where we would have written it.
 * Of its beginning alone, and not checked: it says who may see it, and nothing else.
 */
uint32_t bm_receipt_owner(int state_dir, const struct bm_receipt_entry *entry);

/* The newest first; the caller frees *ret. None is no error. */
int bm_receipts_list(int state_dir, struct bm_receipt_entry **ret, size_t *ret_count,
		     struct bm_error *err);

#endif
