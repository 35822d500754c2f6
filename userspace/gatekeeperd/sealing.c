// SPDX-License-Identifier: GPL-2.0-only
/* profile-seal, profile-refresh, and a grant of a host by its name: resolved, and then offered. */
#include "gatekeeperd/sealing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"
#include "gatekeeperd/profiles.h"
#include "gatekeeperd/seal_plan.h"
#include "policy/one.h"

/* At once: each has a process that resolves, and then some MiB of hosts. */
#define SEALINGS_MAX 8

bool sealing_busy(const struct sealing *s)
{
	return s && s->watch.fd >= 0;
}

bool sealing_open(const struct sealing *s)
{
	return s && s->token[0];
}

bool sealing_awaits(const struct connection *c, const char *token)
{
	const struct sealing *s = c->sealing;

	/* Half of it is worth nothing: the grant may have given way to another. */
	return s && s->token[0] && !strcmp(s->token, token) &&
	       (!s->grant || !strcmp(c->pending.token, token));
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
static int begin(struct daemon *d, struct connection *c, struct sealing **ret, struct bm_error *err)
{
	struct sealing *s;
	size_t others = 0;

	for (const struct connection *other = d->connections; other; other = other->next)
		others += other != c && !other->dead &&
			  (sealing_busy(other->sealing) || sealing_open(other->sealing));
	if (others >= SEALINGS_MAX)
		return bm_fail(err, EBUSY, "sealing", "confirm or end one of them",
			       "%zu profiles are being sealed already", others);
	s = calloc(1, sizeof(*s));
	if (!s)
		return bm_fail_errno(err, ENOMEM, "seal");
	sealing_free(c->sealing);
	c->sealing = s;
	s->connection = c;
	s->watch.fd = -1;
	s->resolving.socket = -1;
	s->items = json_object_new_array();
	*ret = s;
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
	return r < 0 ? r : sealing_offer(d, s, ret_reply, err);
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
	if (r < 0 && s->grant)
		pending_drop(s->connection);
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

/*
 * What a profile is sealed to, also by way of an image that discovers it, others are granted by its
 * name; a host by its name is nobody's word but its own, and what others have of it stays.
 */
static int check_profile(const struct sealing *s, struct bm_error *err)
{
	return s->profile.one
		       ? 0
		       : only_root(s->connection,
				   "a profile is everybody's: only root seals or refreshes it",
				   err);
}

static int load(struct sealing *s, struct bm_message *message, struct bm_error *err)
{
	const char *name = bm_json_string(message->json, "name");
	const char *image = bm_json_string(message->json, "image");
	char file[PATH_MAX];
	int r;

	if (!name)
		return bm_fail(err, EINVAL, "protocol", NULL, "\"name\" is missing");
	if (image && strlen(image) >= sizeof(s->image))
		return bm_fail(err, EINVAL, "protocol", NULL, "\"image\" is too long");
	snprintf(s->image, sizeof(s->image), "%s", image ?: "");
	r = profile_find(name, &s->profile, file, err);
	if (r == 0)
		r = check_profile(s, err);
	if (r < 0 || !bm_json_bool(message->json, "private"))
		return r;
	if (!s->profile.one)
		return bm_fail(err, EINVAL, "profile", "list them in \"private\" of its definition",
			       "profile %s says by itself which private addresses are meant",
			       s->profile.name);
	s->profile.private_too = true;
	return 0;
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
	int root = message->fd_count ? message->fds[0] : -1;
	struct sealing *s;
	int r = begin(d, c, &s, err);

	if (r == 0)
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

int sealing_begin_grant(struct daemon *d, struct connection *c, struct bm_profile *profile,
			struct bm_error *err)
{
	struct json_object *none = NULL;
	struct sealing *s;
	int r = begin(d, c, &s, err);

	if (r < 0)
		return r;
	s->grant = true;
	s->profile = *profile;
	*profile = (struct bm_profile){};
	/* A broker's upstream is pinned in the grant, and not sealed. */
	if (c->pending.kind != GRANT_BROKER)
		look_before(d, s);
	r = plan_hosts(&s->profile, -1, &s->next, s->items, err);
	/* It has a name: there is something to be asked for, and no answer yet. */
	return r < 0 ? r : resolve(d, s, &none, err);
}

int request_profile_refresh(struct daemon *d, struct connection *c, struct bm_message *message,
			    struct json_object **ret_reply, struct bm_error *err)
{
	struct sealing *s;
	autokey key = {};
	int r = begin(d, c, &s, err);

	if (r < 0)
		return r;
	s->refresh = true;
	r = load(s, message, err);
	if (r == 0)
		r = bm_seal_key_open(d->state_dir, 0, false, &key, err);
	if (r == 0)
		r = bm_seal_read(d->state_dir, 0, &key, s->profile.name, 0, &s->old, err);
	if (r == 0)
		r = bm_seal_fits(&s->old, &s->profile, err);
	if (r == 0 && s->profile.one)
		r = bm_one_keep_private(&s->profile, &s->old, err);
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
	if (!token || !sealing_awaits(c, token))
		return bm_fail(err, ENOENT, "confirmation", "seal it again",
			       "nothing on this connection awaits that confirmation");
	r = offset_of_request(message->json, &offset, err);
	if (r < 0)
		return r;
	*ret_reply = json_object_new_object();
	profile_add_page(*ret_reply, c->sealing->items, offset);
	return 0;
}
