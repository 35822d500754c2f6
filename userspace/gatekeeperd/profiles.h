/* SPDX-License-Identifier: GPL-2.0-only */
/* Profiles as the daemon finds them: definitions, and what is sealed of them. */
#ifndef BENCHMON_GATEKEEPERD_PROFILES_H
#define BENCHMON_GATEKEEPERD_PROFILES_H

#include "gatekeeperd/daemon.h"
#include "policy/profile.h"
#include "policy/seal.h"

/* The administrator's come before those that were installed (beside libexec/benchmon). */
#define PROFILE_DIR "/etc/benchmon/profiles"

/*
 * The definition; file, of at least PATH_MAX, gets where it was found. -ENOENT: there is none. That
 * of a profile of one (policy/one.h) is its name: file gets "", and ret->name the one way to write
 * it.
 */
int profile_find(const char *name, struct bm_profile *ret, char *ret_file, struct bm_error *err);

/*
 * What may be granted of a profile now: sealed, unaltered, not expired, and its definition the one
 * that was sealed. Release *ret with bm_sealed_done().
 */
int profile_sealed(struct daemon *d, const char *name, struct bm_sealed *ret, struct bm_error *err);

/*
 * next has taken the place of old (NULL: there was none), on disk and in the ledger. What running
 * Benches of uid's have been granted of the profile follows from here; the reply says of which: R
 * of protocol/README.md.
 */
void profile_changed(struct daemon *d, uid_t uid, const struct bm_sealed *old,
		     const struct bm_sealed *next, struct json_object *reply);

/* The grants of running Benches of uid's that are of it, as "b1/3"; at most PROFILE_USERS. */
#define PROFILE_USERS 64
struct json_object *profile_users(const struct daemon *d, uid_t uid, const char *name);

/* "2026-01-31T12:00:00.000000000Z" of a time of struct bm_sealed, under key. */
void profile_add_time(struct json_object *json, const char *key, int64_t seconds);

/* Items from offset on until a message is full, and where to go on: "next". items stays the
 * caller's. */
void profile_add_page(struct json_object *reply, struct json_object *items, size_t offset);

#endif
