/* SPDX-License-Identifier: GPL-2.0-only */
/* Profiles as the daemon finds them: definitions, and what is sealed of them. */
#ifndef BENCHMON_GATEKEEPERD_PROFILES_H
#define BENCHMON_GATEKEEPERD_PROFILES_H

#include "gatekeeperd/daemon.h"
#include "policy/profile.h"
#include "policy/seal.h"

/* The administrator's come before those that were installed (beside libexec/benchmon). */
#define PROFILE_DIR "/etc/benchmon/profiles"

/* The definition; file, of at least PATH_MAX, gets where it was found. -ENOENT: there is none. */
int profile_find(const char *name, struct bm_profile *ret, char *ret_file, struct bm_error *err);

/*
 * What may be granted of a profile now: sealed, unaltered, not expired, and its definition the one
 * that was sealed. Release *ret with bm_sealed_done().
 */
int profile_sealed(struct daemon *d, const char *name, struct bm_sealed *ret, struct bm_error *err);

/*
 * next has taken the place of old (NULL: there was none), on disk and in the ledger. What running
 * Benches have been granted of the profile follows from here.
 */
void profile_changed(struct daemon *d, const struct bm_sealed *old, const struct bm_sealed *next);

/* "2026-01-31T12:00:00.000000000Z" of a time of struct bm_sealed, under key. */
void profile_add_time(struct json_object *json, const char *key, int64_t seconds);

/* Items from offset on until a message is full, and where to go on: "next". items stays the
 * caller's. */
void profile_add_page(struct json_object *reply, struct json_object *items, size_t offset);

/* sealing.c: resolving for this connection, or waiting for its confirmation. */
struct sealing;
/* While it resolves, the connection has nothing else to say. */
bool sealing_busy(const struct sealing *sealing);
/* What it has resolved awaits a confirmation. */
bool sealing_open(const struct sealing *sealing);
bool sealing_awaits(const struct sealing *sealing, const char *token);
int sealing_confirm(struct daemon *d, struct connection *c, const char *how,
		    struct json_object **ret_reply, struct bm_error *err);
/* Ends its helper; freed with the connection, since the loop may still hold an event of it. */
void sealing_abandon(struct daemon *d, struct sealing *sealing);
/* Accepts NULL. */
void sealing_free(struct sealing *sealing);

#endif
