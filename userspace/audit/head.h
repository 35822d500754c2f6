/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the ledger ends, signed: what shows that its last lines were cut off. The file has two
 * places of one line each, written in turn and in place: a power cut can spoil only the one that is
 * being written, and writing needs no room on a full disk.
 *
 *   {"n":N,"hash":"HEX","file":F,"time":"...","key":"HEX","sig":"HEX"}
 *
 * sig is Ed25519 over "benchmon ledger head 1\n" and the bytes from '{' up to, and without,
 * `,"sig":"`. It is written after its line is on disk, so it may be behind the ledger by what a
 * crash allows, and never ahead of it.
 */
#ifndef BENCHMON_HEAD_H
#define BENCHMON_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/chain.h"
#include "base/error.h"
#include "base/io.h"
#include "keys/key.h"

#define BM_HEAD_NAME "ledger.head"
#define BM_HEAD_LEN 512 /* of one place, with its newline */
#define BM_HEAD_SLOTS 2

struct bm_head {
	struct bm_chain at;
	uint32_t file;
	char time[BM_TIME_LEN];
	char key[BM_KEY_ID_LEN]; /* that it is signed with: whose that is, the caller knows */
};

/* One line without newline; returns buf. */
const char *bm_head_sign(const struct bm_key *key, const struct bm_chain *at, uint32_t file,
			 uint64_t realtime_ns, char buf[BM_HEAD_LEN]);
/* -EBADMSG: no head; -EKEYREJECTED: not signed with the key it names. */
int bm_head_parse(const char *text, size_t len, struct bm_head *ret, struct bm_error *err);

/*
 * The newer of the two that are good; *ret_slot is where the next one goes. -ENODATA: nothing was
 * ever written; -EBADMSG: neither is good.
 */
int bm_head_read(int fd, struct bm_head *ret, int *ret_slot, struct bm_error *err);
/* On disk when it returns. */
int bm_head_write(int fd, int slot, const char *text);

/* "N:HASH", as it stands in a log or a receipt; returns buf. */
#define BM_HEAD_TEXT_LEN (21 + BM_HASH_LEN)
const char *bm_head_text(const struct bm_chain *at, char buf[BM_HEAD_TEXT_LEN]);
/* -EINVAL. */
int bm_head_text_parse(const char *text, struct bm_chain *ret);

#endif
