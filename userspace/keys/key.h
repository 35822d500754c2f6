/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ed25519 keys of root's, each in a file of its own below the state directory: one seals profiles,
 * another signs the ledger. Each is made anew for its own reasons, and what one has signed is never
 * taken for the other's.
 */
#ifndef BENCHMON_KEY_H
#define BENCHMON_KEY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define BM_KEY_ID_LEN 65 /* the public key in hex */

/* Secret: bm_key_done() clears it. */
struct bm_key {
	uint8_t secret[64], public[32];
	char id[BM_KEY_ID_LEN];
};

struct bm_key_file {
	const char *name;
	const char *rule;
	const char *remedy; /* for one that can't be used */
	const char *none;   /* what is said, and advised, where there is none and none is made */
	const char *none_remedy;
};

/*
 * Reads the key below dir, or makes it where there is none and make says so (*ret_made, which may
 * be NULL). Refused unless it is root's, or owner's, and can't be read by others. -ENOENT: there is
 * none.
 */
int bm_key_open(int dir, const struct bm_key_file *file, uid_t owner, bool make, struct bm_key *ret,
		bool *ret_made, struct bm_error *err);
void bm_key_done(struct bm_key *key);
#define autokey __attribute__((cleanup(bm_key_done))) struct bm_key

#endif
