// SPDX-License-Identifier: GPL-2.0-only
/* Taking back: the kernel first, the ledger last. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
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

static void add_id(struct json_object *list, const struct bench *bench, uint32_t number)
{
	char id[BM_GRANT_ID_LEN];

	snprintf(id, sizeof(id), "%s/%u", bench->name, number);
	json_object_array_add(list, json_object_new_string(id));
}

static void add_revoked(struct json_object *reply, const struct revoked *revoked)
{
	bm_json_add(reply, "found", revoked->found);
	bm_json_add_int(reply, "sockets", (int64_t)revoked->sockets);
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

static int revoke_one(struct daemon *d, uid_t uid, const char *id, const char *host_name,
		      struct json_object *list, struct revoked *revoked, struct bm_error *err)
{
	struct grant *grant = NULL, *first;
	struct grant_host *host = NULL;
	struct bench *bench = NULL;
	int r = find_grant(d, uid, id, &bench, &grant, err);

	if (r == 0 && host_name)
		r = find_host(bench, grant, host_name, &host, err);
	if (r == 0 && host && hosts_left(&grant->hosts) > 1)
		return revoke_host(d, bench, grant, host, revoked, err);
	if (r < 0)
		return r;
	do {
		first = nested_first(bench, grant);
		add_id(list, bench, first->number);
		r = grant_revoke(d, bench, first, revoked, err);
	} while (r == 0 && first != grant);
	return r;
}

static int revoke_all(struct daemon *d, struct bench *bench, struct json_object *list,
		      struct revoked *revoked, struct bm_error *err)
{
	int r = 0;

	while (r == 0 && bench->grants) {
		struct grant *first = nested_first(bench, bench->grants);

		add_id(list, bench, first->number);
		r = grant_revoke(d, bench, first, revoked, err);
	}
	return r;
}

int request_revoke(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct revoked revoked = { .found = json_object_new_array() };
	const char *id = bm_json_string(message->json, "grant");
	struct json_object *list = json_object_new_array();
	struct bench *bench;
	int r;

	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "revoked", list);
	if (id) {
		r = revoke_one(d, c->uid, id, bm_json_string(message->json, "host"), list, &revoked,
			       err);
	} else if (!bm_json_bool(message->json, "all")) {
		r = bm_fail(err, EINVAL, "protocol", "name a grant, or a Bench with --all",
			    "revoke: no grant is named");
	} else {
		r = bench_of_request(d, c, message->json, &bench, err);
		if (r == 0)
			r = revoke_all(d, bench, list, &revoked, err);
	}
	add_revoked(*ret_reply, &revoked);
	recall_review(d);
	return r;
}
