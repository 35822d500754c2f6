// SPDX-License-Identifier: GPL-2.0-only
/* Sealed only as it was shown. Order: ledger, then the seal, then what running Benches have of it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/step.h"
#include "gatekeeperd/profiles.h"
#include "gatekeeperd/sealing.h"
#include "policy/one.h"

/* Of a ledger line: the rest is told by a digest of the seal. */
#define RECORDED_HOSTS 64

static bool same_seal(const struct bm_sealed *a, const struct bm_sealed *b)
{
	char one[BM_SEAL_DIGEST_LEN], other[BM_SEAL_DIGEST_LEN];

	return bm_seal_digest(a, one) == 0 && bm_seal_digest(b, other) == 0 && !strcmp(one, other);
}

/* What was shown is what is there: neither the definition nor the seal has changed since. */
static int check_unchanged(struct daemon *d, const struct sealing *s, const struct bm_key *key,
			   struct bm_error *err)
{
	autoprofile profile = {};
	autosealed there = {};
	char file[PATH_MAX];
	int r = profile_find(s->profile.name, &profile, file, err);
	bool has;

	if (r < 0)
		return r;
	has = bm_seal_read(d->state_dir, 0, key, s->profile.name, 0, &there, NULL) == 0;
	if (!memcmp(profile.digest, s->profile.digest, sizeof(profile.digest)) && has == s->had &&
	    !s->overtaken && (!has || same_seal(&there, &s->old)))
		return 0;
	return bm_fail(err, ESTALE, "confirmation", "seal it again",
		       "profile %s has changed since it was shown", s->profile.name);
}

static struct json_object *record_of(const struct sealing *s, const struct connection *c,
				     const struct bm_key *key, const char *how)
{
	struct json_object *fields = json_object_new_object(), *who = json_object_new_object();
	struct json_object *hosts = json_object_new_array();
	char digest[BM_SEAL_DIGEST_LEN];

	bm_json_add_string(fields, "profile", s->profile.name);
	profile_add_time(fields, "sealed", s->next.sealed);
	profile_add_time(fields, "expires", s->next.expires);
	if (s->image[0])
		bm_json_add_string(fields, "image", s->image);
	for (size_t i = 0; i < s->next.host_count && i < RECORDED_HOSTS; i++) {
		const struct bm_sealed_host *host = &s->next.hosts[i];
		char text[BM_HOSTNAME_LEN + 8];

		snprintf(text, sizeof(text), "%s:%u", host->host, host->port);
		json_object_array_add(hosts, json_object_new_string(text));
	}
	bm_json_add(fields, "hosts", hosts);
	if (bm_seal_digest(&s->next, digest) == 0)
		bm_json_add_string(fields, "digest", digest);
	sealing_add_counts(fields, &s->next);
	bm_json_add_string(fields, "key", key->id);
	bm_json_add_int(who, "uid", c->uid);
	bm_json_add_string(who, "how", how);
	bm_json_add(fields, "confirmed", who);
	return fields;
}

static void record_failed(struct daemon *d, const char *name)
{
	struct json_object *fields = json_object_new_object();

	bm_json_add_string(fields, "profile", name);
	daemon_record(d, "profile-failed", fields, NULL);
}

int sealing_seal(struct daemon *d, struct connection *c, const char *how, struct bm_error *err)
{
	struct sealing *s = c->sealing;
	autokey key = {};
	int r = bm_seal_key_open(d->state_dir, 0, true, &key, err);

	/* Whatever comes of it, it is asked once. */
	s->token[0] = '\0';
	if (r == 0)
		r = check_unchanged(d, s, &key, err);
	if (r == 0)
		r = daemon_record(d, s->refresh ? "profile-refresh" : "profile-seal",
				  record_of(s, c, &key, how), err);
	STEP(SEAL_SAID);
	if (r < 0)
		return r;
	r = bm_seal_write(d->state_dir, &key, &s->next, err);
	STEP(SEAL_WRITTEN);
	if (r < 0) {
		record_failed(d, s->profile.name);
		return r;
	}
	for (struct connection *other = d->connections; other; other = other->next)
		if (other->sealing && !strcmp(other->sealing->profile.name, s->profile.name))
			other->sealing->overtaken = true;
	return 0;
}

void sealing_settle(struct daemon *d, const struct sealing *s, struct json_object *reply)
{
	profile_changed(d, s->connection->uid, s->had ? &s->old : NULL, &s->next, reply);
}

/* Signing is deterministic: what was there before is there again, byte for byte. */
static int put_back(struct daemon *d, const struct sealing *s, struct bm_error *err)
{
	autokey key = {};
	int r;

	if (!s->had)
		return bm_seal_remove(d->state_dir, s->profile.name, err);
	r = bm_seal_key_open(d->state_dir, 0, false, &key, err);
	return r < 0 ? r : bm_seal_write(d->state_dir, &key, &s->old, err);
}

void sealing_undo(struct daemon *d, const struct sealing *s)
{
	struct bm_error err = {};

	if (put_back(d, s, &err) < 0)
		daemon_log_error("the seal before", &err);
	else
		record_failed(d, s->profile.name);
}

int sealing_confirm(struct daemon *d, struct connection *c, const char *how,
		    struct json_object **ret_reply, struct bm_error *err)
{
	struct sealing *s = c->sealing;
	struct json_object *profile;
	int r = sealing_seal(d, c, how, err);

	if (r < 0)
		return r;
	profile = json_object_new_object();
	bm_json_add_string(profile, "name", s->profile.name);
	bm_json_add_string(profile, "state", "sealed");
	profile_add_time(profile, "sealed", s->next.sealed);
	profile_add_time(profile, "expires", s->next.expires);
	sealing_add_counts(profile, &s->next);
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "profile", profile);
	sealing_settle(d, s, *ret_reply);
	return 0;
}

/* --- unseal --------------------------------------------------------------------------------------
 */

static int check_unused(const struct daemon *d, const char *name, struct bm_error *err)
{
	autojson *users = profile_users(d, 0, name);
	const char *first = json_object_get_string(json_object_array_get_idx(users, 0));
	char remedy[64];

	if (!first)
		return 0;
	snprintf(remedy, sizeof(remedy), "`benchmon revoke %s`", first);
	return bm_fail(err, EBUSY, "profile", remedy, "%s grants profile %s", first, name);
}

int request_profile_unseal(struct daemon *d, struct connection *c, struct bm_message *message,
			   struct json_object **ret_reply, struct bm_error *err)
{
	const char *name = bm_json_string(message->json, "name");
	struct json_object *fields, *who;
	autoprofile one = {};
	int r = 0;

	if (!name)
		return bm_fail(err, EINVAL, "protocol", NULL, "\"name\" is missing");
	r = only_root(c, "a seal is everybody's: only root takes one away", err);
	if (r < 0)
		return r;
	/* The definition of others may have gone: their names say enough. */
	if (bm_one_is(name))
		r = bm_one_parse(name, strlen(name), &one, err);
	if (one.name[0])
		name = one.name;
	if (r == 0)
		r = check_unused(d, name, err);
	if (r == 0)
		r = bm_seal_remove(d->state_dir, name, err);
	STEP(UNSEAL_REMOVED);
	if (r < 0)
		return r;
	fields = json_object_new_object();
	who = json_object_new_object();
	bm_json_add_string(fields, "profile", name);
	bm_json_add_int(who, "uid", c->uid);
	bm_json_add(fields, "confirmed", who);
	r = daemon_record(d, "profile-unseal", fields, err);
	STEP(UNSEAL_SAID);
	if (r < 0)
		return r;
	daemon_log(LOG_LEVEL_INFO, "profile %s unsealed", name);
	*ret_reply = json_object_new_object();
	bm_json_add_string(*ret_reply, "unsealed", name);
	return 0;
}
