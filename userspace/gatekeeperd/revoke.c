// SPDX-License-Identifier: GPL-2.0-only
/* Taking back: the kernel first, the ledger last. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "gatekeeperd/broker.h"
#include "base/step.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/listen.h"
#include "gatekeeperd/recall.h"
#include "gatekeeperd/names.h"
#include "gatekeeperd/nested.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/receipt.h"
#include "gatekeeperd/search.h"

#define ENDING_FIRST_NS 5000000000ull
#define ENDING_MAX_NS 300000000000ull

static int revoke_file(struct daemon *d, struct bench *bench, struct grant *g,
		       struct json_object *found, struct bm_error *err)
{
	/* With its expiry, so that the kernel ends what maps it should nobody live to do that. */
	struct bm_grant tombstone = { .rights = 0, .grant = g->number, .expiry_ns = g->expiry_ns };
	int r = bm_grant_put(d->kernel, bench->id, g->object, &tombstone, err);

	STEP(REVOKE_FILE_TOMBSTONE);
	if (r < 0)
		return r;
	r = bm_kernel_settle();
	if (r < 0)
		return bm_fail_errno(err, -r, "wait for running programs");
	r = recall_grant(d, bench, g, found, err);
	if (r == REVOKE_SEARCHES)
		return r;
	STEP(REVOKE_FILE_RECALLED);
	if (r < 0)
		return r;
	if (g->expiry_ns) {
		tombstone.expiry_ns = 0;
		r = bm_grant_put(d->kernel, bench->id, g->object, &tombstone, err);
	}
	return r < 0 ? r : nested_release(d, bench, g, err);
}

static void add_mounts(struct json_object *fields, const struct grant *g)
{
	struct json_object *mounts = json_object_new_array();

	for (size_t i = 0; i < GRANT_MOUNTS && g->mounts[i]; i++)
		json_object_array_add(mounts, json_object_new_int64((int64_t)g->mounts[i]));
	bm_json_add(fields, "mounts", mounts);
}

/* A name too many leads nowhere. */
static void names_changed(struct daemon *d, struct bench *bench)
{
	struct bm_error err = {};

	if (names_update(d, bench, NULL, &err) < 0)
		daemon_log_error("names of a Bench", &err);
}

int grant_revoke(struct daemon *d, struct bench *bench, struct grant *g, struct revoked *ret,
		 struct bm_error *err)
{
	struct json_object *found = json_object_new_array(), *fields;
	char now[40];
	bool file = g->kind == GRANT_FILE;
	const char *reason = has_expired(g) ? "expired" : bench->tearing ? "ended" : NULL;
	size_t sockets = 0;
	int r = file ? revoke_file(d, bench, g, found, err)
		     : bench_net_revoke(d, bench, &(struct reach){ g, NULL }, found, &sockets, err);

	/* Behind an endpoint that is closed, or could not be: the kernel refuses each packet by
	 * now. */
	if (g->kind == GRANT_BROKER)
		broker_stop(d, bench, g);
	STEP(REVOKE_BROKER_STOPPED);
	if (r == REVOKE_SEARCHES) {
		json_object_put(found);
		return r;
	}
	if (r < 0) {
		backoff_failed(&bench->ending, bm_now_ns(CLOCK_BOOTTIME), ENDING_FIRST_NS,
			       ENDING_MAX_NS);
		json_object_put(found);
		return r;
	}
	backoff_reset(&bench->ending);
	for (size_t i = 0; ret && i < json_object_array_length(found); i++)
		json_object_array_add(ret->found,
				      json_object_get(json_object_array_get_idx(found, i)));
	if (ret)
		ret->sockets += sockets;
	fields = json_object_new_object();
	bm_json_add_int(fields, "grant", g->number);
	if (g->closed)
		bm_json_add_bool(fields, "closed", true);
	if (reason)
		bm_json_add_string(fields, "reason", reason);
	if (file)
		add_mounts(fields, g);
	else
		bm_json_add_int(fields, "sockets", (int64_t)sockets);
	if (g->kind == GRANT_BROKER)
		broker_count_to_json(fields, g->broker);
	if (file || json_object_array_length(found))
		bm_json_add(fields, "found", json_object_get(found));
	json_object_put(found);
	r = bench_record(d, bench, "revoke", fields, err);
	STEP(REVOKE_SAID);
	daemon_log(LOG_LEVEL_INFO, "revoked %s/%u", bench->name, g->number);
	now_text(now);
	receipt_grant(bench, g, now, reason ?: "revoked");
	/* Taken back it is, whether or not the ledger could say so. */
	if (g->kind == GRANT_LISTEN)
		listen_revoked(d, bench, g);
	nested_revoked(d, bench, g);
	if (!file)
		names_changed(d, bench);
	return r;
}

static int find_grant(struct daemon *d, uid_t uid, const char *id, struct bench **ret_bench,
		      struct grant **ret_grant, struct bm_error *err)
{
	char name[BM_BENCH_NAME_LEN], shown[64];
	uint32_t number;

	if (bm_grant_id_parse(id, name, &number) < 0)
		return bm_fail(err, EINVAL, "grant-id", "see `benchmon show BENCH`",
			       "\"%s\" is no grant id such as b1/3",
			       bm_escape(id, shown, sizeof(shown)));
	*ret_bench = model_find_of(&d->model, name, uid);
	if (!*ret_bench)
		return bm_fail(err, ENOENT, NULL, "see `benchmon ls`", "there is no Bench %s",
			       name);
	*ret_grant = bench_grant(*ret_bench, number);
	if (!*ret_grant)
		return bm_fail(err, ENOENT, NULL, "see `benchmon show`", "there is no grant %s/%u",
			       name, number);
	return 0;
}

/* Once, however often it has been tried. */
static void add_id(struct json_object *list, const struct bench *bench, uint32_t number)
{
	size_t count = json_object_array_length(list);
	char id[BM_GRANT_ID_LEN];

	snprintf(id, sizeof(id), "%s/%u", bench->name, number);
	if (count &&
	    !strcmp(json_object_get_string(json_object_array_get_idx(list, count - 1)), id))
		return;
	json_object_array_add(list, json_object_new_string(id));
}

/* A request that is begun anew each time something it waits for has come. */
struct revoking {
	struct revoking *next;
	struct connection *connection; /* NULL: nobody waits for the answer */
	uint32_t bench, grant;         /* grant 0: all of them */
	char host[BM_HOSTNAME_LEN];    /* one of a profile; "": the whole grant */
	struct json_object *list;      /* ids of what was revoked */
	struct revoked revoked;
};

static struct json_object *reply_of(struct revoking *v)
{
	struct json_object *reply = json_object_new_object();

	bm_json_add(reply, "revoked", json_object_get(v->list));
	bm_json_add(reply, "found", json_object_get(v->revoked.found));
	bm_json_add_int(reply, "sockets", (int64_t)v->revoked.sockets);
	return reply;
}

static void revoking_free(struct revoking *v)
{
	json_object_put(v->list);
	json_object_put(v->revoked.found);
	free(v);
}

/* One host of a profile; with the last of them the grant ends. The kernel first here too. */
static int revoke_host(struct daemon *d, struct bench *bench, struct grant *g,
		       struct grant_host *host, struct revoked *revoked, struct bm_error *err)
{
	struct json_object *fields = json_object_new_object();
	size_t sockets = 0;
	int r = bench_net_revoke(d, bench, &(struct reach){ g, host }, revoked->found, &sockets,
				 err);

	STEP(REVOKE_HOST_CLOSED);
	if (r < 0) {
		json_object_put(fields);
		return r;
	}
	revoked->sockets += sockets;
	grant_revoke_host(g, host->name);
	bm_json_add_int(fields, "grant", g->number);
	bm_json_add_string(fields, "host", host->name);
	bm_json_add_int(fields, "sockets", (int64_t)sockets);
	r = bench_record(d, bench, "revoke-host", fields, err);
	STEP(REVOKE_HOST_SAID);
	names_changed(d, bench);
	daemon_log(LOG_LEVEL_INFO, "revoked %s of %s/%u", host->name, bench->name, g->number);
	return r;
}

static int find_host(const struct bench *bench, const struct grant *g, const char *name,
		     struct grant_host **ret, struct bm_error *err)
{
	char shown[BM_HOSTNAME_LEN];

	*ret = g->kind == GRANT_NET && *name ? hosts_find(&g->hosts, name) : NULL;
	if (*ret && !(*ret)->revoked)
		return 0;
	return bm_fail(err, ENOENT, NULL, "see `benchmon show BENCH`", "%s/%u grants no host %s",
		       bench->name, g->number, bm_escape(name, shown, sizeof(shown)));
}

/* What lies in it first. */
static int revoke_with_nested(struct daemon *d, struct bench *bench, struct grant *grant,
			      struct revoking *v, struct bm_error *err)
{
	struct grant *first;
	int r;

	do {
		first = nested_first(bench, grant);
		add_id(v->list, bench, first->number);
		r = grant_revoke(d, bench, first, &v->revoked, err);
	} while (r == 0 && first != grant);
	return r;
}

/* What has ended otherwise meanwhile is revoked, too. */
static int go_on(struct daemon *d, struct revoking *v, struct bm_error *err)
{
	struct bench *bench = model_find_id(&d->model, v->bench);
	struct grant *grant = bench && v->grant ? bench_grant(bench, v->grant) : NULL;
	struct grant_host *host = NULL;
	int r = 0;

	if (v->host[0] && grant) {
		r = find_host(bench, grant, v->host, &host, err);
		if (r == 0 && hosts_left(&grant->hosts) > 1)
			return revoke_host(d, bench, grant, host, &v->revoked, err);
	}
	if (grant && r == 0)
		return revoke_with_nested(d, bench, grant, v, err);
	while (r == 0 && bench && !v->grant && bench->grants)
		r = revoke_with_nested(d, bench, bench->grants, v, err);
	return r;
}

void revoking_unheard(struct revoking *v)
{
	if (v)
		v->connection = NULL;
}

static void answer(struct daemon *d, struct revoking *v, int r, struct bm_error *err)
{
	struct connection *c = v->connection;

	if (c) {
		c->revoking = NULL;
		connection_answer(d, c, r, r < 0 ? NULL : reply_of(v), err);
	} else if (r < 0) {
		daemon_log_error("revoke", err);
	}
	revoking_free(v);
}

/* Those that can; the oldest first. */
static void all_go_on(struct daemon *d)
{
	struct revoking **at = &d->revokings;

	while (*at) {
		struct revoking *v = *at;
		struct bm_error err = {};
		int r = go_on(d, v, &err);

		if (r == REVOKE_SEARCHES) {
			at = &v->next;
			continue;
		}
		*at = v->next;
		answer(d, v, r, &err);
		/* Another one may have waited for this. */
		d->searched = true;
	}
}

void revocations_turn(struct daemon *d)
{
	while (d->searched) {
		d->searched = false;
		all_go_on(d);
		recall_review(d);
	}
}

void revocations_finish(struct daemon *d)
{
	all_go_on(d);
	recall_review(d);
	for (struct bench *b = d->model.benches; b; b = b->next)
		search_abandon(d, b);
	searches_bury(d);
}

static int find_revoked(struct daemon *d, const struct connection *c, struct json_object *request,
			struct revoking *v, struct bm_error *err)
{
	const char *id = bm_json_string(request, "grant"), *host = bm_json_string(request, "host");
	struct grant_host *found;
	struct grant *grant;
	struct bench *bench;
	int r;

	if (!id && !bm_json_bool(request, "all"))
		return bm_fail(err, EINVAL, "protocol", "name a grant, or a Bench with --all",
			       "revoke: no grant is named");
	r = id ? find_grant(d, c->uid, id, &bench, &grant, err)
	       : bench_of_request(d, c, request, &bench, err);
	if (r == 0 && id && host)
		r = find_host(bench, grant, host, &found, err);
	if (r < 0)
		return r;
	v->bench = bench->id;
	v->grant = id ? grant->number : 0;
	if (id && host)
		snprintf(v->host, sizeof(v->host), "%s", found->name);
	return 0;
}

int request_revoke(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct revoking *v = calloc(1, sizeof(*v)), **end = &d->revokings;
	int r;

	if (!v)
		return -ENOMEM;
	v->list = json_object_new_array();
	v->revoked.found = json_object_new_array();
	r = find_revoked(d, c, message->json, v, err);
	if (r == 0)
		r = go_on(d, v, err);
	if (r == REVOKE_SEARCHES) {
		while (*end)
			end = &(*end)->next;
		*end = v;
		v->connection = c;
		c->revoking = v;
		return 0;
	}
	if (r == 0)
		*ret_reply = reply_of(v);
	revoking_free(v);
	recall_review(d);
	return r;
}
