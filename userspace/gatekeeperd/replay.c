// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/replay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gatekeeperd/asks.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/carriers.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifetime.h"
#include "gatekeeperd/nested.h"
#include "gatekeeperd/receipt.h"
#include "gatekeeperd/record.h"
#include "gatekeeperd/rule_four.h"

static int bad_line(uint64_t n, const char *event, struct bm_error *err)
{
	return bm_fail(err, EBADMSG, "ledger", NULL,
		       "ledger line %" PRIu64 ": \"%s\" makes no sense", n, event);
}

static void take_place(struct bench *bench, struct json_object *json)
{
	struct json_object *namespaces = bm_json_get(json, "namespaces", json_type_object);
	const char *cgroup = bm_json_string(json, "cgroup");
	int64_t pid = 0, start = 0;

	bm_json_int(json, "pid", &pid);
	bm_json_int(json, "pid_start", &start);
	bench->pid = (pid_t)pid;
	bench->pid_start = (uint64_t)start;
	for (int i = 0; namespaces && i < BM_NS_MAX; i++) {
		int64_t inode = 0;

		bm_json_int(namespaces, bm_namespace_names[i], &inode);
		bench->namespaces[i] = (uint64_t)inode;
	}
	if (cgroup)
		snprintf(bench->cgroup.path, sizeof(bench->cgroup.path), "%s", cgroup);
}

/* What says itself which request it answers, is its confirmation, should the line of that lack. */
static void answered(struct model *model, struct json_object *json)
{
	const char *id = bm_json_string(json, "request");
	struct ask *ask = id ? asks_find_id(model, id) : NULL;

	if (ask)
		asks_remove(model, ask);
}

static int replay_begin(struct daemon *d, struct json_object *json, const char *name, uint32_t id,
			bool again)
{
	const char *container = bm_json_string(json, "container");
	const char *created = bm_json_string(json, "created");
	struct bench *bench;
	int64_t slot = 0, owner = 0, agent = 0;

	/* Ids only grow; those said again are not new. */
	if (again ? id > d->model.last_bench || model_find_id(&d->model, id)
		  : id <= d->model.last_bench)
		return -EBADMSG;
	/* A Bench whose end could not be written: the name was free when this one took it. */
	bench = model_find(&d->model, name);
	if (bench)
		model_remove(&d->model, bench);
	bench = model_add(&d->model, name, id);
	if (!bench)
		return -ENOMEM;
	bm_json_int(json, "slot", &slot);
	bench->slot = (uint32_t)slot;
	/* Without one it is root's: of a ledger from before too. */
	if (json_object_object_get_ex(json, "owner", NULL) &&
	    (bm_json_int(json, "owner", &owner) < 0 || owner <= 0 || owner >= UINT32_MAX))
		return -EBADMSG;
	bench->owner = (uid_t)owner;
	if (json_object_object_get_ex(json, "agent", NULL)) {
		if (bm_json_int(json, "agent", &agent) < 0 || agent < 0 || agent >= UINT32_MAX)
			return -EBADMSG;
		bench->agent = (uid_t)agent;
	}
	answered(&d->model, json);
	snprintf(bench->container, sizeof(bench->container), "%s", container ?: "");
	snprintf(bench->created, sizeof(bench->created), "%s", created ?: "");
	bench->begun = true;
	bench->userns = bm_json_bool(json, "userns");
	bench->first_uses = bm_json_bool(json, "first_uses");
	bench->learns = bm_json_bool(json, "learn");
	take_place(bench, json);
	if (bench_exec_parse(bm_json_string(json, "exec"), &bench->exec) < 0 ||
	    lifetime_replay(json, bench) < 0)
		return -EBADMSG;
	return bench_origin_parse(bm_json_string(json, "origin"), &bench->origin);
}

/* A number is used once, and the id says whose it is. */
static int replay_grant(struct model *model, struct bench *bench, struct json_object *json)
{
	const char *id = bm_json_string(json, "id");
	char name[BM_BENCH_NAME_LEN];
	struct grant *grant, *closed;
	uint32_t number;
	int r;

	if (!id || bm_grant_id_parse(id, name, &number) < 0 || strcmp(name, bench->name) ||
	    number <= bench->last_grant)
		return -EBADMSG;
	r = grant_from_json(json, &grant);
	if (r < 0)
		return r;
	if (r == 0 && grant->kind == GRANT_NET && grant->profile)
		r = hosts_take(bench, number, &grant->hosts);
	if (r < 0) {
		grant_free(grant);
		return r;
	}
	closed = grant->kind == GRANT_FILE ? bench_closed_object(bench, grant->object) : NULL;
	if (closed)
		bench_remove_closed(bench, closed);
	bench_add_grant(bench, grant);
	answered(model, json);
	return 0;
}

/* again: it had ended before, and when, "history" says. */
static int replay_revoke(struct bench *bench, struct json_object *json, bool again)
{
	struct json_object *mounts = bm_json_get(json, "mounts", json_type_array);
	struct grant *grant;
	int64_t number;

	if (bm_json_int(json, "grant", &number) < 0 || number <= 0 || number > UINT32_MAX)
		return -EBADMSG;
	if (number > bench->last_grant)
		bench->last_grant = (uint32_t)number;
	grant = bench_grant(bench, (uint32_t)number);
	if (!grant)
		return 0;
	if (grant->kind == GRANT_BROKER && broker_replay(grant, json) < 0)
		return -EBADMSG;
	/* One that failed never came to be: what it began, "ever" says. */
	if (strcmp(bm_json_string(json, "reason") ?: "", "failed"))
		bench->ever |= grant_ways(grant);
	if (!again)
		receipt_grant(bench, grant, bm_json_string(json, "time") ?: "",
			      bm_json_string(json, "reason") ?: "revoked");
	if (grant->kind != GRANT_FILE) {
		bench_remove_grant(bench, grant);
		return 0;
	}
	for (size_t i = 0; mounts && i < GRANT_MOUNTS && i < json_object_array_length(mounts); i++)
		grant->mounts[i] =
			(uint64_t)json_object_get_int64(json_object_array_get_idx(mounts, i));
	if (bm_json_bool(json, "closed"))
		bench_close_grant(bench, grant);
	else
		bench_retire_grant(bench, grant);
	return 0;
}

static int replay_broker(struct bench *bench, struct json_object *json)
{
	struct grant *grant;
	int64_t number;

	if (bm_json_int(json, "grant", &number) < 0 || number <= 0 || number > UINT32_MAX)
		return -EBADMSG;
	grant = bench_grant(bench, (uint32_t)number);
	return grant ? broker_replay(grant, json) : -EBADMSG;
}

/* refresh: what was announced is granted too; refreshed: it alone; revoke-host: all but that. */
static int replay_hosts(struct bench *bench, const char *event, struct json_object *json)
{
	const char *name = bm_json_string(json, "host");
	struct grant_host *host;
	struct grant *grant;
	int64_t number;
	int r = 0;

	if (bm_json_int(json, "grant", &number) < 0 || number <= 0 || number > UINT32_MAX)
		return -EBADMSG;
	grant = bench_grant(bench, (uint32_t)number);
	if (!grant || grant->kind != GRANT_NET)
		return -EBADMSG;
	if (!strcmp(event, "refresh")) {
		hosts_done(&grant->next_hosts);
		r = hosts_take(bench, grant->number, &grant->next_hosts);
		if (r == 0)
			hosts_inherit(&grant->next_hosts, &grant->hosts);
		return r < 0 ? r : grant_seal_from_json(json, grant);
	}
	if (!strcmp(event, "refreshed")) {
		grant_refreshed(grant);
		return 0;
	}
	host = name ? hosts_find(&grant->hosts, name) : NULL;
	if (!host)
		return -EBADMSG;
	grant_revoke_host(grant, host->name);
	return 0;
}

/* How far the numbers had come that are never used again. */
static void replay_counters(struct model *model, struct json_object *json)
{
	const struct {
		const char *key;
		uint32_t *last;
	} counters[] = {
		{ "last_bench", &model->last_bench },
		{ "last_request", &model->last_ask },
		{ "last_carrier", &model->last_carrier },
	};
	int64_t last;

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (bm_json_int(json, counters[i].key, &last) == 0 && last > 0 &&
		    last <= UINT32_MAX)
			*counters[i].last = (uint32_t)last;
}

static int replay(void *ctx, uint64_t n, const char *event, struct json_object *json,
		  struct bm_error *err)
{
	const char *name = bm_json_string(json, "bench");
	bool again = !strcmp(event, "state");
	struct daemon *d = ctx;
	struct bench *bench;
	int64_t id;
	int r = 0;

	if (again)
		event = bm_json_string(json, "was") ?: event;
	if (!strcmp(event, "begin"))
		replay_counters(&d->model, json);
	if (!strcmp(event, "carrier") || !strcmp(event, "carrier-clear"))
		return carrier_replay(&d->model, event, json) < 0 ? bad_line(n, event, err) : 0;
	if (asks_event(event))
		return asks_replay(&d->model, event, json) < 0 ? bad_line(n, event, err) : 0;
	if (!name)
		return 0; /* about no Bench */
	if (!bm_bench_name_valid(name) || bm_json_int(json, "bench_id", &id) < 0 || id <= 0 ||
	    id > UINT32_MAX)
		return bad_line(n, event, err);
	if (!strcmp(event, "create") || !strcmp(event, "attach")) {
		r = replay_begin(d, json, name, (uint32_t)id, again);
		if (r == 0)
			standing_keep(model_find_id(&d->model, (uint32_t)id), event, json);
		return r < 0 ? bad_line(n, event, err) : 0;
	}
	bench = model_find_id(&d->model, (uint32_t)id);
	if (!bench && (!strcmp(event, "destroy") || !strcmp(event, "detach")))
		return 0; /* of one whose beginning could not be written */
	if (!bench || strcmp(bench->name, name))
		return bad_line(n, event, err);
	if (!strcmp(event, "ready")) {
		take_place(bench, json);
		r = bench_shared_parse(bm_json_get(json, "shared", json_type_array),
				       &bench->shared);
		if (r == 0)
			r = lifetime_replay(json, bench);
		bench->state = BENCH_READY;
	} else if (!strcmp(event, "own-objects")) {
		json_object_put(bench->detached);
		bench->detached = json_object_get(bm_json_get(json, "detached", json_type_array));
	} else if (!strcmp(event, "destinations")) {
		r = hosts_replay(bench, json);
	} else if (!strcmp(event, "grant")) {
		r = replay_grant(&d->model, bench, json);
	} else if (!strcmp(event, "refresh") || !strcmp(event, "refreshed") ||
		   !strcmp(event, "revoke-host")) {
		r = replay_hosts(bench, event, json);
	} else if (!strcmp(event, "broker")) {
		r = replay_broker(bench, json);
	} else if (!strcmp(event, "exec")) {
		bench->executions++;
	} else if (!strcmp(event, "freeze") || !strcmp(event, "thaw")) {
		bench->frozen = *event == 'f';
	} else if (!strcmp(event, "ever")) {
		r = rule_four_replay(bench, json);
	} else if (!strcmp(event, "history")) {
		r = receipt_replay(bench, json);
	} else if (!strcmp(event, "revoke")) {
		r = replay_revoke(bench, json, again);
	} else if (!strcmp(event, "destroy") || !strcmp(event, "detach")) {
		model_remove(&d->model, bench);
		return 0;
	}
	if (r == 0)
		standing_keep(bench, event, json);
	return r < 0 ? bad_line(n, event, err) : 0;
}

int replay_ledger(struct daemon *d, struct bm_error *err)
{
	return bm_ledger_replay(d->ledger, replay, d, err);
}

static bool keep_grant(void *ctx, const struct bm_grant_key *key, const struct bm_grant *value)
{
	struct bench *bench = model_find_id(ctx, key->bench);
	struct grant *grant;

	/* Own objects are the walls' inside; of a Bench that the ledger lost they go too. */
	if (!bench)
		return false;
	if (!value->grant && value->rights & BM_LEARN)
		return false;
	/* Less than nothing a tombstone can't give; without it an outer grant might. */
	if (!value->grant || !value->rights)
		return true;
	grant = bench_grant(bench, value->grant);
	if (grant && grant->learn)
		return bench->learns && grant->object == key->object && value->rights == BM_LEARN;
	return grant && grant->kind == GRANT_FILE && grant->object == key->object &&
	       !(value->rights & BM_SECRET) == !grant->secret &&
	       !(value->rights & ~(uint32_t)(BM_R | BM_SECRET | (grant->writable ? BM_W : 0)));
}

static bool keep_dest(void *ctx, const struct bm_dest_key *key, const struct bm_dest *value)
{
	struct bench *bench = model_find_id(ctx, key->bench);
	struct grant *grant = bench ? bench_grant(bench, value->grant) : NULL;

	struct bm_destination d = { .protocol = key->protocol,
				    .port = ntohs(key->port),
				    .listens = key->side == BM_SIDE_LISTEN };

	memcpy(d.address, key->address, sizeof(d.address));
	return grant && grant_reaches(grant, &d);
}

static bool keep_except(void *ctx, const struct bm_except_key *key, const struct bm_except *value)
{
	struct bench *bench = model_find_id(ctx, key->bench);

	(void)value;
	return bench && excepts_have(bench, key->object, key->name);
}

struct bm_keep replay_keep(struct model *model)
{
	return (struct bm_keep){ keep_grant, keep_dest, keep_except, model };
}
