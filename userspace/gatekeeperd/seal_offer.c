// SPDX-License-Identifier: GPL-2.0-only
/* What is going to be sealed, for people: every host and address, and against what was sealed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/grant_net.h"
#include "gatekeeperd/profiles.h"
#include "gatekeeperd/sealing.h"

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

static bool any_private(const struct bm_sealed *sealed)
{
	for (size_t i = 0; i < sealed->host_count; i++)
		for (size_t k = 0; k < sealed->hosts[i].address_count; k++)
			if (bm_destination_check(&sealed->hosts[i].addresses[k].destination, false,
						 NULL) < 0)
				return true;
	return false;
}

void sealing_add_counts(struct json_object *json, const struct bm_sealed *sealed)
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
	bm_json_add_bool(json, "private", any_private(sealed));
}

static int offer_profile(struct daemon *d, struct sealing *s, struct json_object **ret_reply)
{
	struct json_object *confirm = json_object_new_object();

	snprintf(s->token, sizeof(s->token), "%" PRIu64, ++d->next_token);
	bm_json_add_string(confirm, "token", s->token);
	bm_json_add_string(confirm, "kind", "profile");
	bm_json_add_string(confirm, "profile", s->profile.name);
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "confirm", confirm);
	return 0;
}

/* The same token stands for both halves. */
static int offer_grant(struct daemon *d, struct sealing *s, struct json_object **ret_reply,
		       struct bm_error *err)
{
	struct pending *p = &s->connection->pending;
	struct bench *bench = model_find_id(&d->model, p->bench_id);
	int r;

	if (!bench)
		return bm_fail(err, ENOENT, NULL, NULL, "Bench %s has ended meanwhile", p->bench);
	r = grant_net_take_sealed(p, &s->next);
	if (r < 0)
		return bm_fail_errno(err, -r, "profile %s", s->profile.name);
	p->seals = true;
	*ret_reply = pending_offer(d, s->connection, bench);
	memcpy(s->token, p->token, sizeof(s->token));
	bm_json_add_bool(bm_json_get(*ret_reply, "confirm", json_type_object), "seals", true);
	return 0;
}

static int offer_broker(struct daemon *d, struct sealing *s, struct json_object **ret_reply,
			struct bm_error *err)
{
	struct pending *p = &s->connection->pending;
	struct bench *bench = model_find_id(&d->model, p->bench_id);
	int r;

	if (!bench)
		return bm_fail(err, ENOENT, NULL, NULL, "Bench %s has ended meanwhile", p->bench);
	r = broker_take_resolved(p, &s->next, err);
	if (r < 0)
		return r;
	*ret_reply = pending_offer(d, s->connection, bench);
	bm_json_add_bool(bm_json_get(*ret_reply, "confirm", json_type_object), "private",
			 any_private(&s->next));
	return 0;
}

int sealing_offer(struct daemon *d, struct sealing *s, struct json_object **ret_reply,
		  struct bm_error *err)
{
	struct json_object *reply = NULL, *confirm, *notes = s->items;
	size_t counts[3] = {};
	int r;

	if (s->grant && s->connection->pending.kind == GRANT_BROKER)
		return offer_broker(d, s, ret_reply, err);
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
	r = s->grant ? offer_grant(d, s, &reply, err) : offer_profile(d, s, &reply);
	if (r < 0)
		return r;
	confirm = bm_json_get(reply, "confirm", json_type_object);
	bm_json_add_string(confirm, "description", s->profile.description);
	bm_json_add_bool(confirm, "refresh", s->refresh);
	bm_json_add_bool(confirm, "replaces", s->had);
	if (s->image[0])
		bm_json_add_string(confirm, "image", s->image);
	profile_add_time(confirm, "expires", s->next.expires);
	sealing_add_counts(confirm, &s->next);
	bm_json_add(confirm, "users", profile_users(d, s->connection->uid, s->profile.name));
	bm_json_add_int(confirm, "added", (int64_t)counts[BM_SEAL_ADDED]);
	bm_json_add_int(confirm, "kept", (int64_t)counts[BM_SEAL_KEPT]);
	bm_json_add_int(confirm, "dropped", (int64_t)counts[BM_SEAL_DROPPED]);
	*ret_reply = reply;
	return 0;
}
