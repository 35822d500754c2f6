// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/model.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/box.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/asks.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/listen.h"

static const char *const kinds[] = { [GRANT_FILE] = "file",
				     [GRANT_NET] = "net",
				     [GRANT_LISTEN] = "listen",
				     [GRANT_BROKER] = "broker" };
static const char *const origins[] = {
	[ORIGIN_CREATED] = "created", [ORIGIN_ATTACHED] = "attached"
};
static const char *const states[] = {
	[BENCH_MAKING] = "making", [BENCH_READY] = "ready", [BENCH_BROKEN] = "broken"
};
static const char *const execs[] = { [EXEC_OWN] = "own", [EXEC_IMAGE] = "image" };
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == GRANT_KIND_MAX, "a name for each kind");
_Static_assert(sizeof(origins) / sizeof(origins[0]) == ORIGIN_MAX, "a name for each origin");
_Static_assert(sizeof(states) / sizeof(states[0]) == BENCH_STATE_MAX, "a name for each state");
_Static_assert(sizeof(execs) / sizeof(execs[0]) == EXEC_MAX, "a name for each mode");

const char *grant_kind_name(enum grant_kind kind)
{
	return kinds[kind];
}

const char *bench_origin_name(enum bench_origin origin)
{
	return origins[origin];
}

const char *bench_state_name(enum bench_state state)
{
	return states[state];
}

const char *bench_exec_name(enum bench_exec exec)
{
	return execs[exec];
}

static int parse(const char *const *names, int max, const char *name)
{
	for (int i = 0; name && i < max; i++)
		if (!strcmp(names[i], name))
			return i;
	return -EBADMSG;
}

uint32_t bench_flags(const struct bench *bench)
{
	uint32_t flags = 0;

	if (bench->exec == EXEC_IMAGE)
		flags |= BM_BENCH_IMAGE;
	if (bench->userns)
		flags |= BM_BENCH_USERNS;
	if (bench->first_uses)
		flags |= BM_BENCH_FIRST_USES;
	if (bench->learns)
		flags |= BM_BENCH_LEARN;
	if (bench->shared & 1u << BM_NS_IPC)
		flags |= BM_BENCH_SHARED_IPC;
	if (bench->shared & 1u << BM_NS_PID)
		flags |= BM_BENCH_SHARED_PID;
	if (bench->shared & 1u << BM_NS_NET)
		flags |= BM_BENCH_SHARED_NET;
	if (bench->origin == ORIGIN_CREATED)
		flags |= BM_BENCH_HOLDER;
	return flags;
}

struct json_object *bench_shared_to_json(const struct bench *bench)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < BM_NS_MAX; i++)
		if (bench->shared & 1u << i)
			json_object_array_add(list, json_object_new_string(bm_namespace_names[i]));
	return list;
}

int bench_shared_parse(struct json_object *list, uint32_t *ret)
{
	uint32_t shared = 0;

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		int kind =
			json_object_is_type(item, json_type_string)
				? parse(bm_namespace_names, BM_NS_MAX, json_object_get_string(item))
				: -EBADMSG;

		if (kind < 0)
			return kind;
		shared |= 1u << kind;
	}
	*ret = shared;
	return 0;
}

int grant_kind_parse(const char *name, enum grant_kind *ret)
{
	int r = parse(kinds, GRANT_KIND_MAX, name);

	if (r >= 0)
		*ret = (enum grant_kind)r;
	return r < 0 ? r : 0;
}

int bench_origin_parse(const char *name, enum bench_origin *ret)
{
	int r = parse(origins, ORIGIN_MAX, name);

	if (r >= 0)
		*ret = (enum bench_origin)r;
	return r < 0 ? r : 0;
}

int bench_exec_parse(const char *name, enum bench_exec *ret)
{
	int r = name ? parse(execs, EXEC_MAX, name) : EXEC_OWN;

	if (r >= 0)
		*ret = (enum bench_exec)r;
	return r < 0 ? r : 0;
}

static struct bench **bucket_of_id(struct model *model, uint32_t id)
{
	return &model->by_id[id % MODEL_BUCKETS];
}

static struct bench **bucket_of_name(struct model *model, const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return &model->by_name[hash % MODEL_BUCKETS];
}

struct bench *model_find(struct model *model, const char *name)
{
	struct bench *b = *bucket_of_name(model, name);

	while (b && strcmp(b->name, name))
		b = b->next_name;
	return b;
}

struct bench *model_find_of(struct model *model, const char *name, uid_t uid)
{
	struct bench *bench = model_find(model, name);

	return bench && bench_is_of(bench, uid) ? bench : NULL;
}

struct bench *model_find_id(struct model *model, uint32_t id)
{
	struct bench *b = *bucket_of_id(model, id);

	while (b && b->id != id)
		b = b->next_id;
	return b;
}

struct bench *model_add(struct model *model, const char *name, uint32_t id)
{
	struct bench *bench = calloc(1, sizeof(*bench)), **bucket;

	if (!bench)
		return NULL;
	snprintf(bench->name, sizeof(bench->name), "%s", name);
	bench->id = id;
	bench->cgroup = BM_CGROUP_NONE;
	bench->net = -1;
	bench->agent = BENCH_NO_AGENT;
	bench->maps.userns = -1;
	bench->target = BM_TARGET_NONE;
	bench->places = PLACES_NONE;
	if (id > model->last_bench)
		model->last_bench = id;
	*(model->last ? &model->last->next : &model->benches) = bench;
	model->last = bench;
	bucket = bucket_of_id(model, id);
	bench->next_id = *bucket;
	*bucket = bench;
	bucket = bucket_of_name(model, bench->name);
	bench->next_name = *bucket;
	*bucket = bench;
	return bench;
}

void model_remove(struct model *model, struct bench *bench)
{
	struct bench **at = &model->benches, *before = NULL;

	for (; *at != bench; at = &(*at)->next)
		before = *at;
	*at = bench->next;
	asks_remove_bench(model, bench->id);
	if (model->last == bench)
		model->last = before;
	for (at = bucket_of_id(model, bench->id); *at != bench;)
		at = &(*at)->next_id;
	*at = bench->next_id;
	for (at = bucket_of_name(model, bench->name); *at != bench;)
		at = &(*at)->next_name;
	*at = bench->next_name;
	while (bench->grants)
		bench_remove_grant(bench, bench->grants);
	bench_forget_revoked(bench);
	while (bench->closed)
		bench_remove_closed(bench, bench->closed);
	bm_cgroup_close(&bench->cgroup);
	bm_target_close(&bench->target);
	places_close(&bench->places);
	bm_close(bench->net);
	bm_close(bench->maps.userns);
	json_object_put(bench->detached);
	json_object_put(bench->history);
	json_object_put(bench->outputs);
	json_object_put(bench->denials);
	json_object_put(bench->standing);
	bm_order_done(&bench->events);
	hosts_done(&bench->announced);
	free(bench);
}

int model_free_slot(const struct model *model, uint32_t *ret_slot)
{
	bool taken[BM_ID_SLOTS] = {};

	for (const struct bench *b = model->benches; b; b = b->next)
		if (b->origin == ORIGIN_CREATED && b->slot < BM_ID_SLOTS)
			taken[b->slot] = true;
	for (uint32_t slot = 0; slot < BM_ID_SLOTS; slot++) {
		if (!taken[slot]) {
			*ret_slot = slot;
			return 0;
		}
	}
	return -ENOSPC;
}

void model_free_name(struct model *model, char ret_name[BM_BENCH_NAME_LEN])
{
	uint32_t n = 1;

	do {
		snprintf(ret_name, BM_BENCH_NAME_LEN, "b%u", n++);
	} while (model_find(model, ret_name));
}

struct grant *bench_grant(struct bench *bench, uint32_t number)
{
	struct grant *g = bench->grants;

	while (g && g->number != number)
		g = g->next;
	return g;
}

struct grant *bench_grant_of_object(struct bench *bench, uint64_t object)
{
	struct grant *g = bench->grants;

	while (g && (g->kind != GRANT_FILE || g->object != object))
		g = g->next;
	return g;
}

void bench_add_grant(struct bench *bench, struct grant *grant)
{
	struct grant **end = &bench->grants;

	while (*end)
		end = &(*end)->next;
	*end = grant;
	grant->next = NULL;
	bench->grant_count++;
	bench->expiring += grant->expiry_ns != 0;
	if (grant->number > bench->last_grant)
		bench->last_grant = grant->number;
}

void grant_free(struct grant *grant)
{
	if (grant) {
		free(grant->source);
		free(grant->dest);
		free(grant->profile);
		free(grant->seal);
		free(grant->excepts);
		hosts_done(&grant->hosts);
		hosts_done(&grant->next_hosts);
		grant_broker_free(grant->broker);
	}
	free(grant);
}

static void unlink_grant(struct grant **at, const struct grant *grant)
{
	while (*at != grant)
		at = &(*at)->next;
	*at = grant->next;
}

void bench_forget_maps(struct bench *bench)
{
	if (bench->grants)
		return;
	bm_close(bench->maps.userns);
	bench->maps.userns = -1;
}

static void unlink_from_grants(struct bench *bench, const struct grant *grant)
{
	unlink_grant(&bench->grants, grant);
	bench->grant_count--;
	bench->expiring -= grant->expiry_ns != 0;
	bench_forget_maps(bench);
}

void bench_remove_grant(struct bench *bench, struct grant *grant)
{
	unlink_from_grants(bench, grant);
	grant_free(grant);
}

struct grant *bench_closed_object(const struct bench *bench, uint64_t object)
{
	struct grant *g = bench->closed;

	while (g && g->object != object)
		g = g->next;
	return g;
}

void bench_remove_closed(struct bench *bench, struct grant *grant)
{
	unlink_grant(&bench->closed, grant);
	grant_free(grant);
}

void bench_close_grant(struct bench *bench, struct grant *grant)
{
	struct grant *before = bench_closed_object(bench, grant->object);

	if (before)
		bench_remove_closed(bench, before);
	unlink_from_grants(bench, grant);
	grant->closed = true;
	grant->next = bench->closed;
	bench->closed = grant;
}

void bench_retire_grant(struct bench *bench, struct grant *grant)
{
	unlink_from_grants(bench, grant);
	grant->next = bench->revoked;
	bench->revoked = grant;
}

void bench_forget_revoked(struct bench *bench)
{
	while (bench->revoked) {
		struct grant *grant = bench->revoked;

		bench->revoked = grant->next;
		grant_free(grant);
	}
}

struct bm_dest_key bench_dest_key(const struct bench *bench, const struct bm_destination *d)
{
	struct bm_dest_key key = { .bench = bench->id,
				   .port = htons(d->port),
				   .protocol = d->protocol,
				   .side = d->listens ? BM_SIDE_LISTEN : BM_SIDE_OUT };

	memcpy(key.address, d->address, sizeof(key.address));
	return key;
}

void grant_refreshed(struct grant *g)
{
	hosts_done(&g->hosts);
	g->hosts = g->next_hosts;
	g->next_hosts = (struct grant_hosts){};
}
