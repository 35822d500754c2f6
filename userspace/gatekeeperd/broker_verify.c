// SPDX-License-Identifier: GPL-2.0-only
/* broker-ls, and broker-verify: one harmless call, made by a process that has no Bench. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/profiles.h"
#include "network/resolve.h"

/* Resolving, and then running; one a connection. */
struct broker_verify {
	struct watch watch; /* first: a watch is cast to it. The resolver's; -1: it has answered */
	struct connection *connection;
	struct bm_resolving resolving;
	struct json_object *first;
	int credential;
	uint16_t port;
	bool private;
	struct broker_run *run;
};

bool broker_verify_busy(const struct connection *c)
{
	return c->verify && (c->verify->watch.fd >= 0 || c->verify->run);
}

void broker_verify_abandon(struct daemon *d, struct connection *c)
{
	struct broker_verify *v = c->verify;

	if (!v)
		return;
	if (v->watch.fd >= 0) {
		daemon_unwatch(d, &v->watch);
		v->watch.fd = -1;
		bm_resolve_abandon(&v->resolving);
	}
	if (v->run)
		broker_run_end(d, v->run);
	v->run = NULL;
}

void broker_verify_free(struct broker_verify *v)
{
	if (!v)
		return;
	bm_resolve_abandon(&v->resolving);
	json_object_put(v->first);
	bm_close(v->credential);
	free(v);
}

static void on_verified(struct daemon *d, struct broker_run *run, const char *why)
{
	struct connection *c = run->connection;
	struct json_object *reply = NULL;
	struct bm_error err = run->failed;
	int r = 0;

	run->dead = true;
	if (!c || c->dead)
		return;
	c->verify->run = NULL;
	if (run->verified) {
		reply = json_object_new_object();
		bm_json_add(reply, "verified", json_object_get(run->verified));
	} else {
		r = bm_fail(&err, EPROTO, NULL, "is benchmon-broker installed beside gatekeeperd?",
			    "%s", why);
	}
	connection_answer(d, c, r < 0 ? -err.code : 0, reply, &err);
}

static int add_addresses(const struct broker_verify *v, const struct bm_resolved *resolved,
			 struct bm_error *err)
{
	struct json_object *list = json_object_new_array();
	int r = 0;

	for (size_t i = 0; r == 0 && i < resolved->count && i < BROKER_ADDRESSES; i++) {
		struct bm_destination d = { .port = v->port, .protocol = IPPROTO_TCP };
		char text[INET6_ADDRSTRLEN];
		bool v4;

		memcpy(d.address, resolved->addresses[i].address, sizeof(d.address));
		v4 = bm_destination_is_v4(&d);
		r = bm_destination_check(&d, v->private, err);
		inet_ntop(v4 ? AF_INET : AF_INET6, d.address + (v4 ? 12 : 0), text, sizeof(text));
		json_object_array_add(list, json_object_new_string(text));
	}
	bm_json_add(v->first, "addresses", list);
	return r;
}

static int run(struct daemon *d, struct broker_verify *v, struct bm_error *err)
{
	struct broker_run *run = broker_run_new(d);
	int r;

	if (!run)
		return bm_fail_errno(err, ENOMEM, "broker");
	run->ended = on_verified;
	run->connection = v->connection;
	v->run = run;
	r = broker_spawn(d, run, v->first, v->credential, err);
	if (r < 0) {
		broker_run_end(d, run);
		v->run = NULL;
	}
	return r;
}

static void on_resolved(struct daemon *d, struct watch *w, uint32_t events)
{
	struct broker_verify *v = (struct broker_verify *)w;
	autofree struct bm_resolved *resolved = NULL;
	struct bm_error err = {};
	int r;

	(void)events;
	daemon_unwatch(d, w);
	w->fd = -1;
	r = bm_resolve_finish(&v->resolving, &resolved, &err);
	if (r == 0)
		r = add_addresses(v, resolved, &err);
	if (r == 0)
		r = run(d, v, &err);
	/* Else it is answered when that has ended. */
	if (r < 0)
		connection_answer(d, v->connection, r, NULL, &err);
}

static int first_of(const struct broker_definition *def, const char *upstream,
		    struct json_object **ret)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_int(json, "v", 1);
	bm_json_add_string(json, "bench", "");
	bm_json_add_string(json, "grant", "");
	bm_json_add(json, "definition", json_object_get(def->json));
	if (upstream)
		bm_json_add_string(json, "upstream", upstream);
	bm_json_add_bool(json, "verify", true);
	*ret = json;
	return 0;
}

static int begin(struct daemon *d, struct broker_verify *v, const struct broker_definition *def,
		 struct bm_error *err)
{
	const char *host = def->broker.host;
	int r = bm_resolve_start(&host, 1, &v->resolving, err);

	if (r < 0)
		return r;
	v->watch = (struct watch){ .fd = v->resolving.socket, .ready = on_resolved };
	r = daemon_watch(d, &v->watch, EPOLLIN);
	if (r < 0)
		v->watch.fd = -1;
	return r < 0 ? bm_fail_errno(err, -r, "resolve") : 0;
}

int request_broker_verify(struct daemon *d, struct connection *c, struct bm_message *message,
			  struct json_object **ret_reply, struct bm_error *err)
{
	const char *upstream = bm_json_string(message->json, "upstream");
	const char *name = bm_json_string(message->json, "name");
	struct broker_verify *v = calloc(1, sizeof(*v));
	autodefinition def = {};
	char from[PATH_MAX];
	int r;

	(void)ret_reply; /* when it has ended */
	if (!v)
		return bm_fail_errno(err, ENOMEM, "broker");
	broker_verify_free(c->verify);
	c->verify = v;
	v->connection = c;
	v->watch.fd = v->resolving.socket = v->credential = -1;
	v->private = bm_json_bool(message->json, "private");
	r = name ? broker_find(name, &def, err)
		 : bm_fail(err, EINVAL, "protocol", NULL, "\"name\" is missing");
	if (r == 0)
		r = broker_set_upstream(&def, upstream, err);
	if (r == 0)
		r = broker_credential(name, &v->credential, from, err);
	if (r < 0)
		return r;
	v->port = def.broker.port;
	first_of(&def, upstream, &v->first);
	return begin(d, v, &def, err);
}

/* --- the list ------------------------------------------------------------------------------------
 */

struct listing {
	struct daemon *d;
	uid_t uid; /* whose Benches are told of */
	struct json_object *items;
};

static struct json_object *users_of(const struct daemon *d, uid_t uid, const char *name)
{
	struct json_object *list = json_object_new_array();
	char id[BM_GRANT_ID_LEN];

	for (const struct bench *b = d->model.benches; b; b = b->next) {
		for (const struct grant *g = b->grants; g; g = g->next) {
			if (!bench_is_of(b, uid) || g->kind != GRANT_BROKER ||
			    strcmp(g->broker->name, name) ||
			    json_object_array_length(list) == PROFILE_USERS)
				continue;
			snprintf(id, sizeof(id), "%s/%u", b->name, g->number);
			json_object_array_add(list, json_object_new_string(id));
		}
	}
	return list;
}

static void add_credential(struct json_object *json, const char *name)
{
	struct bm_error why = {};
	char from[PATH_MAX];
	autoclose fd = -1;
	int got = -1;

	if (broker_credential(name, &got, from, &why) == 0)
		bm_json_add_string(json, "credential", from);
	else if (!json_object_object_get_ex(json, "why", NULL))
		bm_json_add(json, "why", bm_error_to_json(&why));
	fd = got;
}

static bool listed(struct json_object *items, const char *name)
{
	for (size_t i = 0; i < json_object_array_length(items); i++)
		if (!strcmp(bm_json_string(json_object_array_get_idx(items, i), "name"), name))
			return true;
	return false;
}

static void add_definition(void *ctx, const char *name)
{
	struct listing *listing = ctx;
	struct json_object *json;
	autodefinition def = {};
	struct bm_error why = {};
	char upstream[BM_HOSTNAME_LEN + 8];

	/* Of two of a name the administrator's is the one. */
	if (listed(listing->items, name))
		return;
	json = json_object_new_object();
	bm_json_add_string(json, "name", name);
	if (broker_find(name, &def, &why) < 0) {
		bm_json_add(json, "why", bm_error_to_json(&why));
	} else {
		bm_json_add_string(json, "description", def.broker.description);
		bm_json_add_string(json, "file", def.file);
		snprintf(upstream, sizeof(upstream), "%s:%u", def.broker.host, def.broker.port);
		if (!def.broker.setting)
			bm_json_add_string(json, "upstream", upstream);
		add_credential(json, name);
	}
	bm_json_add(json, "users", users_of(listing->d, listing->uid, name));
	json_object_array_add(listing->items, json);
}

int request_broker_ls(struct daemon *d, struct connection *c, struct bm_message *message,
		      struct json_object **ret_reply, struct bm_error *err)
{
	struct listing listing = { .d = d, .uid = c->uid };
	size_t offset;
	int r = offset_of_request(message->json, &offset, err);

	if (r < 0)
		return r;
	listing.items = json_object_new_array();
	broker_each(add_definition, &listing);
	*ret_reply = json_object_new_object();
	profile_add_page(*ret_reply, listing.items, offset);
	json_object_put(listing.items);
	return 0;
}
