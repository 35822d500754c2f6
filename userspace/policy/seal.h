/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has been sealed: the addresses that a profile's hosts had when somebody confirmed them,
 * signed with a key of root's. STATE/profiles/NAME.json (a comma in place of the slash that a name
 * may have) holds it in a first line, and the signature over exactly these bytes, newline included,
 * in a second one.
 */
#ifndef BENCHMON_SEAL_H
#define BENCHMON_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "keys/key.h"
#include "network/address.h"
#include "policy/profile.h"

#define BM_SEALED_HOSTS 512
#define BM_SEALED_ADDRESSES 64          /* of one host */
#define BM_SEALED_MAX (4 * 1024 * 1024) /* bytes of the file */
#define BM_SEALED_FROM_LEN 256
#define BM_SEAL_DIR "profiles"
#define BM_SEAL_KEY "seal.key"

/* All times are seconds of CLOCK_REALTIME. */
struct bm_sealed_address {
	struct bm_destination destination;
	uint32_t ttl;  /* seconds, the least that was answered; 0: given as an address */
	int64_t seen;  /* when it was last answered */
	int64_t until; /* 0, or it isn't answered any more and kept until then */
};

struct bm_sealed_host {
	char host[BM_HOSTNAME_LEN]; /* "": the profile gives an address */
	uint8_t protocol;
	uint16_t port;
	bool uploads;
	char from[BM_SEALED_FROM_LEN]; /* "profile", or what it was discovered in */
	struct bm_sealed_address *addresses;
	size_t address_count;
};

struct bm_sealed {
	char name[BM_PROFILE_NAME_LEN];
	int64_t sealed, expires;
	uint8_t definition[BM_PROFILE_DIGEST]; /* of what it was made from */
	struct bm_sealed_host *hosts;
	size_t host_count;
};

void bm_sealed_done(struct bm_sealed *sealed);
#define autosealed __attribute__((cleanup(bm_sealed_done))) struct bm_sealed

/* A host and an address more; NULL when out of memory or of BM_SEALED_*. Owned by sealed. */
struct bm_sealed_host *bm_sealed_add_host(struct bm_sealed *sealed);
struct bm_sealed_address *bm_sealed_add_address(struct bm_sealed_host *host);

/* The caller owns it; NULL when out of memory. */
struct json_object *bm_sealed_to_json(const struct bm_sealed *sealed);
/* One host of it, as it stands in there. */
struct json_object *bm_sealed_host_to_json(const struct bm_sealed_host *host);
/* -EBADMSG. Release *ret with bm_sealed_done(). */
int bm_sealed_from_json(struct json_object *json, struct bm_sealed *ret, struct bm_error *err);

/* --- the key --------------------------------------------------------------------------------- */

/*
 * Reads STATE/seal.key, or makes it where there is none and make says so. Refused unless it is
 * root's, or owner's, and can't be read by others. -ENOENT: there is none.
 */
int bm_seal_key_open(int state_dir, uid_t owner, bool make, struct bm_key *ret,
		     struct bm_error *err);

/* --- the file -------------------------------------------------------------------------------- */

/* Replaces what is sealed under that name; on disk, all of it or nothing, when it returns. */
int bm_seal_write(int state_dir, const struct bm_key *key, const struct bm_sealed *sealed,
		  struct bm_error *err);

/* Forgets it, whether it is believed or not. -ENOENT: not sealed. */
int bm_seal_remove(int state_dir, const char *name, struct bm_error *err);
/* Of which profile a file of the directory is the seal; -EINVAL: of none. */
int bm_seal_file_name(const char *file, char ret_name[BM_PROFILE_NAME_LEN]);

/*
 * Reads and verifies it. -ENOENT: not sealed; -EPERM: somebody else's file, or one that others can
 * write; -EBADMSG: altered; -EKEYREJECTED: sealed with another key; -EKEYEXPIRED: too old. now 0:
 * its age does not matter. Release *ret with bm_sealed_done().
 */
int bm_seal_read(int state_dir, uid_t owner, const struct bm_key *key, const char *name,
		 int64_t now, struct bm_sealed *ret, struct bm_error *err);

/* BLAKE2b-256, in hex, of the bytes that are signed: what a record names it by. -ENOMEM. */
#define BM_SEAL_DIGEST_LEN 65
int bm_seal_digest(const struct bm_sealed *sealed, char ret[BM_SEAL_DIGEST_LEN]);

/* -ESTALE when the definition has changed since. */
int bm_seal_fits(const struct bm_sealed *sealed, const struct bm_profile *profile,
		 struct bm_error *err);

/* --- from one seal to the next -----------------------------------------------------------------
 */

/*
 * Adds to next what old has of the same hosts and is not answered any more, until the profile's
 * overlap has passed since it was first missing: names that rotate among many addresses keep
 * working. What the profile does not allow any more is not kept. old may be NULL.
 */
int bm_seal_overlap(const struct bm_sealed *old, const struct bm_profile *profile,
		    struct bm_sealed *next, struct bm_error *err);

enum bm_seal_change { BM_SEAL_ADDED, BM_SEAL_KEPT, BM_SEAL_DROPPED };

struct bm_seal_difference {
	enum bm_seal_change change;
	const struct bm_sealed_host *host; /* of old where it was dropped, else of next */
	const struct bm_sealed_address *address;
};

/*
 * What next has and old has not, what it keeps for a while, and what it has no more. The caller
 * frees *ret, which points into both; old may be NULL. -ENOMEM.
 */
int bm_seal_diff(const struct bm_sealed *old, const struct bm_sealed *next,
		 struct bm_seal_difference **ret, size_t *ret_count);

#endif
