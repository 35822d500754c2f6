/* SPDX-License-Identifier: GPL-2.0-only */
/* The definition of a profile: what somebody wants to be sealed. It opens nothing by itself. */
#ifndef BENCHMON_PROFILE_H
#define BENCHMON_PROFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "network/address.h"
#include "policy/hostname.h"

#define BM_PROFILE_NAME_LEN 216     /* of a definition at most 33; policy/one.h has longer ones */
#define BM_PROFILE_MAX (256 * 1024) /* bytes of a definition */
#define BM_PROFILE_ENTRIES 256
#define BM_PROFILE_PRIVATE 64
#define BM_PROFILE_TEXT 200 /* characters of a description or a why */
#define BM_PROFILE_TEXT_LEN (4 * BM_PROFILE_TEXT + 1)
#define BM_PROFILE_DIGEST 32
#define BM_PROFILE_MAX_AGE (7 * 86400u) /* seconds, where nothing is said */
#define BM_PROFILE_OVERLAP 86400u

enum bm_entry_kind { BM_ENTRY_HOST, BM_ENTRY_ADDRESS, BM_ENTRY_DISCOVER };
enum bm_discover { BM_DISCOVER_APT, BM_DISCOVER_NPM, BM_DISCOVER_PIP, BM_DISCOVER_MAX };

struct bm_profile_entry {
	enum bm_entry_kind kind;
	char host[BM_HOSTNAME_LEN];        /* HOST */
	struct bm_destination destination; /* ADDRESS; of HOST port and protocol alone */
	enum bm_discover discover;         /* DISCOVER */
	bool uploads;                      /* the host takes data as well as it gives some */
	char why[BM_PROFILE_TEXT_LEN];
};

struct bm_profile {
	char name[BM_PROFILE_NAME_LEN];
	char description[BM_PROFILE_TEXT_LEN];
	uint32_t max_age; /* seconds from sealing until it is refused */
	uint32_t overlap; /* seconds that an address is kept which is no longer answered */
	struct bm_profile_entry *entries;
	size_t entry_count;
	uint8_t (*private)[16]; /* private addresses that are meant */
	size_t private_count;
	bool private_too;                  /* as if every private address were listed there */
	bool one;                          /* one host, which no file defines: policy/one.h */
	uint8_t digest[BM_PROFILE_DIGEST]; /* of the exact bytes: BLAKE2b-256 */
};

/* "apt", "npm", "pip". */
const char *bm_discover_name(enum bm_discover what);
/* A name that a profile may have: 1 to 32 of a-z, 0-9 and '-', beginning with a letter. */
int bm_profile_name_check(const char *name, struct bm_error *err);

/*
 * Parses a definition of len bytes; what names it in errors, which say the entry, the key and what
 * is wrong with it. name is what the file is called and the profile must be; NULL: whatever it
 * says. Release *ret with bm_profile_done().
 */
int bm_profile_parse(const char *text, size_t len, const char *what, const char *name,
		     struct bm_profile *ret, struct bm_error *err);

/*
 * Reads NAME.json in the directory dir. Refused unless it and the directory belong to root, or to
 * owner, and nobody else can write them: whoever writes a definition decides what gets sealed.
 * -ENOENT when there is none.
 */
int bm_profile_load(int dir, const char *name, uid_t owner, struct bm_profile *ret,
		    struct bm_error *err);
/* By the same rules the text of any definition, at most max bytes; the caller's. */
int bm_definition_read(int dir, const char *dir_name, const char *file, uid_t owner, size_t max,
		       char **ret, size_t *ret_len, struct bm_error *err);
/*
 * The i-th of the directories that hold definitions, first the machine's own, then what was
 * installed with this program in share/benchmon/BELOW: its fd, the caller's, and its path; -1 when
 * it is not there, -ENOENT after the last.
 */
int bm_definition_dir(int i, const char *own, const char *below, char path[PATH_MAX]);
void bm_profile_done(struct bm_profile *profile);

/* Whether the profile says that this very private address is meant. */
bool bm_profile_means(const struct bm_profile *profile, const uint8_t address[16]);

#define autoprofile __attribute__((cleanup(bm_profile_done))) struct bm_profile

#endif
