// SPDX-License-Identifier: GPL-2.0-only
/*
 * profile-seal and profile-refresh: resolved by a helper while the loop goes on, shown, and sealed
 * only as it was shown. Order: ledger, then the seal, then what running Benches have of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"
#include "gatekeeperd/profiles.h"
#include "gatekeeperd/seal_plan.h"

/* Of a ledger line: the rest is told by a digest of the seal. */
#define RECORDED_HOSTS 64

struct sealing {
	struct watch
		watch; /* first: a watch is cast to its sealing. The helper; -1: it has answered */
	struct connection *connection;
	char token[24]; /* "": not shown yet */
	bool refresh, had;
	bool overtaken; /* another connection has sealed the same profile since */
	char image[PATH_MAX];
	struct bm_profile profile;
	struct bm_sealed old, next; /* old, if had, is what it takes the place of */
	struct bm_resolving resolving;
	struct json_object *items; /* what profile-pending tells */
};

bool sealing_busy(const struct sealing *s)
{
	return s && s->watch.fd >= 0;
}

bool sealing_awaits(const struct sealing *s, const char *token)
{
	return s && s->token[0] && !strcmp(s->token, token);
}

void sealing_abandon(struct daemon *d, struct sealing *s)
{
	if (!sealing_busy(s))
		return;
	daemon_unwatch(d, &s->watch);
	s->watch.fd = -1;
	bm_resolve_abandon(&s->resolving);
}

void sealing_free(struct sealing *s)
{
	if (!s)
		return;
	bm_resolve_abandon(&s->resolving);
	bm_profile_done(&s->profile);
	bm_sealed_done(&s->old);
	bm_sealed_done(&s->next);
	json_object_put(s->items);
	free(s);
}

/* The connection's, in place of what was shown on it before. */
static struct sealing *begin(struct connection *c)
{
	struct sealing *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	sealing_free(c->sealing);
	c->sealing = s;
	s->connection = c;
	s->watch.fd = -1;
	s->resolving.socket = -1;
	s->items = json_object_new_array();
	return s;
}

/* --- what is shown -----------------------------------------------------------------------------
 */

static void add_item(struct json_object *items, const char *key, struct json_object *value)
{
	struct json_object *item = json_object_new_object();

	bm_json_add(item, key, value);
	json_object_array_add(items, item);
}

static int add_changes(struct sealing *s, size_t ret_counts[3])
{
	static const char *const names[] = {
		[BM_SEAL_ADDED] = "added", [BM_SEAL_KEPT] = "kept", [BM_SEAL_DROPPED] = "dropped"
	};
	autofree struct bm_seal_difference *list = NULL;
	size_t count = 0;
	int r = bm_seal_diff(s->had ? &s->old : NULL, &s->next, &list, &count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct json_object *change = json_object_new_object();
		char text[BM_DESTINATION_LEN];

		ret_counts[list[i].change]++;
		bm_json_add_string(change, "what", names[list[i].change]);
		bm_json_add_string(change, "host", list[i].host->host);
		bm_json_add_string(change, "destination",
				   bm_destination_format(&list[i].address->destination, text));
		if (list[i].change == BM_SEAL_KEPT)
			profile_add_time(change, "until", list[i].address->until);
		/* Of a first seal everything is new. */
		if (s->had)
			add_item(s->items, "change", change);
		else
			json_object_put(change);
	}
	return r;
}

static void add_counts(struct json_object *json, const struct bm_sealed *sealed)
{
	size_t addresses = 0;
	bool uploads = false;

	for (size_t i = 0; i < sealed->host_count; i++) {
		addresses += sealed->hosts[i].address_count;
		uploads |= sealed->hosts[i].uploads;
	}
	bm_json_add_int(json, "host_count", (int64_t)sealed->host_count);
	bm_json_add_int(json, "address_count", (int64_t)addresses);
	bm_json_add_bool(json, "uploads", uploads);
}

/* C of protocol/README.md */
static int offer(struct daemon *d, struct sealing *s, struct json_object **ret_reply,
		 struct bm_error *err)
{
	struct json_object *confirm, *notes = s->items;
	size_t counts[3] = {};
	int r;

	s->items = json_object_new_array();
	for (size_t i = 0; i < s->next.host_count; i++)
		add_item(s->items, "host", bm_sealed_host_to_json(&s->next.hosts[i]));
	for (size_t i = 0; i < json_object_array_length(notes); i++)
		json_object_array_add(s->items,
				      json_object_get(json_object_array_get_idx(notes, i)));
	json_object_put(notes);
	r = add_changes(s, counts);
	if (r < 0)
		return bm_fail_errno(err, -r, "profile %s", s->profile.name);
	snprintf(s->token, sizeof(s->token), "%" PRIu64, ++d->next_token);
	confirm = json_object_new_object();
	bm_json_add_string(confirm, "token", s->token);
	bm_json_add_string(confirm, "kind", "profile");
	bm_json_add_string(confirm, "profile", s->profile.name);
	bm_json_add_string(confirm, "description", s->profile.description);
	bm_json_add_bool(confirm, "refresh", s->refresh);
	bm_json_add_bool(confirm, "replaces", s->had);
	if (s->image[0])
		bm_json_add_string(confirm, "image", s->image);
	profile_add_time(confirm, "expires", s->next.expires);
	add_counts(confirm, &s->next);
	bm_json_add_int(confirm, "added", (int64_t)counts[BM_SEAL_ADDED]);
	bm_json_add_int(confirm, "kept", (int64_t)counts[BM_SEAL_KEPT]);
	bm_json_add_int(confirm, "dropped", (int64_t)counts[BM_SEAL_DROPPED]);
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "confirm", confirm);
	return 0;
}

static int complete(struct daemon *d, struct sealing *s, const struct bm_resolved *resolved,
		    size_t count, struct json_object **ret_reply, struct bm_error *err)
{
	int64_t now = time(NULL);
	int r = plan_take(&s->profile, resolved, count, now, &s->next, s->items, err);

	if (r < 0)
		return r;
	snprintf(s->next.name, sizeof(s->next.name), "%s", s->profile.name);
	s->next.sealed = now;
	s->next.expires = now + s->profile.max_age;
	memcpy(s->next.definition, s->profile.digest, sizeof(s->next.definition));
	if (s->had)
		r = bm_seal_overlap(&s->old, &s->profile, &s->next, err);
	return r < 0 ? r : offer(d, s, ret_reply, err);
}

static void on_resolved(struct daemon *d, struct watch *w, uint32_t events)
{
	struct sealing *s = (struct sealing *)w;
	autofree struct bm_resolved *resolved = NULL;
	struct json_object *reply = NULL;
	size_t count = s->resolving.count;
	struct bm_error err = {};
	int r;

	(void)events;
	daemon_unwatch(d, w);
	w->fd = -1;
	r = bm_resolve_finish(&s->resolving, &resolved, &err);
	if (r == 0)
		r = complete(d, s, resolved, count, &reply, &err);
	connection_answer(d, s->connection, r, reply, &err);
}

/* --- seal, refresh -------------------------------------------------------------------------------
 */

static int resolve(struct daemon *d, struct sealing *s, struct json_object **ret_reply,
		   struct bm_error *err)
{
	int r = plan_resolve(&s->next, &s->resolving, err);

	if (r < 0)
		return r;
	if (s->resolving.socket < 0)
		return complete(d, s, NULL, 0, ret_reply, err);
	s->watch = (struct watch){ .fd = s->resolving.socket, .ready = on_resolved };
	r = daemon_watch(d, &s->watch, EPOLLIN);
	if (r < 0) {
		s->watch.fd = -1;
		return bm_fail_errno(err, -r, "resolve");
	}
	return 0;
}

static int load(struct sealing *s, struct bm_message *message, struct bm_error *err)
{
	const char *name = bm_json_string(message->json, "name");
	const char *image = bm_json_string(message->json, "image");
	char file[PATH_MAX];

	if (!name)
		return bm_fail(err, EINVAL, "protocol", NULL, "\"name\" is missing");
	if (image && strlen(image) >= sizeof(s->image))
		return bm_fail(err, EINVAL, "protocol", NULL, "\"image\" is too long");
	snprintf(s->image, sizeof(s->image), "%s", image ?: "");
	return profile_find(name, &s->profile, file, err);
}

/* What was sealed before, whatever its age. A seal that is not believed is told of, and replaced.
 */
static void look_before(struct daemon *d, struct sealing *s)
{
	struct json_object *note;
	autokey key = {};
	struct bm_error why = {};
	int r = bm_seal_key_open(d->state_dir, 0, false, &key, &why);

	if (r == 0)
		r = bm_seal_read(d->state_dir, 0, &key, s->profile.name, 0, &s->old, &why);
	s->had = r == 0;
	if (r == 0 || r == -ENOENT)
		return;
	note = json_object_new_object();
	bm_json_add_string(note, "replaced", why.message);
	json_object_array_add(s->items, note);
}

static bool discovers(const struct bm_profile *profile)
{
	for (size_t i = 0; i < profile->entry_count; i++)
		if (profile->entries[i].kind == BM_ENTRY_DISCOVER)
			return true;
	return false;
}

int request_profile_seal(struct daemon *d, struct connection *c, struct bm_message *message,
			 struct json_object **ret_reply, struct bm_error *err)
{
	int root = message->fd_count ? message->fds[0] : -1, r;
	struct sealing *s = begin(c);

	if (!s)
		return -ENOMEM;
	r = load(s, message, err);
	if (r == 0 && root >= 0 && !discovers(&s->profile))
		r = bm_fail(err, EINVAL, "discover", "leave --image or --rootfs away",
			    "profile %s discovers nothing in an image", s->profile.name);
	if (r == 0) {
		look_before(d, s);
		r = plan_hosts(&s->profile, root, &s->next, s->items, err);
	}
	return r < 0 ? r : resolve(d, s, ret_reply, err);
}

int request_profile_refresh(struct daemon *d, struct connection *c, struct bm_message *message,
			    struct json_object **ret_reply, struct bm_error *err)
{
	struct sealing *s = begin(c);
	autokey key = {};
	int r;

	if (!s)
		return -ENOMEM;
	s->refresh = true;
	r = load(s, message, err);
	if (r == 0)
		r = bm_seal_key_open(d->state_dir, 0, false, &key, err);
	if (r == 0)
		r = bm_seal_read(d->state_dir, 0, &key, s->profile.name, 0, &s->old, err);
	if (r == 0)
		r = bm_seal_fits(&s->old, &s->profile, err);
	if (r < 0)
		return r;
	s->had = true;
	r = plan_again(&s->profile, &s->old, &s->next, err);
	return r < 0 ? r : resolve(d, s, ret_reply, err);
}

int request_profile_pending(struct daemon *d, struct connection *c, struct bm_message *message,
			    struct json_object **ret_reply, struct bm_error *err)
{
	const char *token = bm_json_string(message->json, "token");
	size_t offset;
	int r;

	(void)d;
	if (!token || !sealing_awaits(c->sealing, token))
		return bm_fail(err, ENOENT, "confirmation", "seal it again",
			       "nothing on this connection awaits that confirmation");
	r = offset_of_request(message->json, &offset, err);
	if (r < 0)
		return r;
	*ret_reply = json_object_new_object();
	profile_add_page(*ret_reply, c->sealing->items, offset);
	return 0;
}

/* --- confirm -------------------------------------------------------------------------------------
 */

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
	add_counts(fields, &s->next);
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

static int seal(struct daemon *d, struct connection *c, const char *how, struct bm_error *err)
{
	struct sealing *s = c->sealing;
	autokey key = {};
	int r = bm_seal_key_open(d->state_dir, 0, true, &key, err);

	if (r == 0)
		r = check_unchanged(d, s, &key, err);
	if (r == 0)
		r = daemon_record(d, s->refresh ? "profile-refresh" : "profile-seal",
				  record_of(s, c, &key, how), err);
	if (r < 0)
		return r;
	r = bm_seal_write(d->state_dir, &key, &s->next, err);
	if (r < 0) {
		record_failed(d, s->profile.name);
		return r;
	}
	for (struct connection *other = d->connections; other; other = other->next)
		if (other->sealing && !strcmp(other->sealing->profile.name, s->profile.name))
			other->sealing->overtaken = true;
	profile_changed(d, s->had ? &s->old : NULL, &s->next);
	return 0;
}

int sealing_confirm(struct daemon *d, struct connection *c, const char *how,
		    struct json_object **ret_reply, struct bm_error *err)
{
	struct sealing *s = c->sealing;
	struct json_object *profile;
	int r = seal(d, c, how, err);

	s->token[0] = '\0';
	if (r < 0)
		return r;
	profile = json_object_new_object();
	bm_json_add_string(profile, "name", s->profile.name);
	bm_json_add_string(profile, "state", "sealed");
	profile_add_time(profile, "sealed", s->next.sealed);
	profile_add_time(profile, "expires", s->next.expires);
	add_counts(profile, &s->next);
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "profile", profile);
	return 0;
}
