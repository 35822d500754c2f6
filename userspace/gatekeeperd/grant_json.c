// SPDX-License-Identifier: GPL-2.0-only
/* A grant as it stands in the ledger, and in replies. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "gatekeeperd/asks.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/listen.h"
#include "gatekeeperd/model.h"

struct json_object *grant_to_json(const struct bench *bench, const struct grant *g)
{
	struct json_object *json = json_object_new_object(), *by = json_object_new_object();
	char id[ASK_ID_LEN], destination[BM_DESTINATION_LEN], time[BM_TIME_LEN];

	snprintf(id, sizeof(id), "%s/%u", bench->name, g->number);
	bm_json_add_string(json, "id", id);
	bm_json_add_string(json, "kind", grant_kind_name(g->kind));
	bm_json_add_string(json, "created", g->created);
	if (g->expiry_ns) {
		bm_json_add_string(json, "expires", bm_time_format(g->expires_ns, time));
		bm_json_add_int(json, "expiry_ns", (int64_t)g->expiry_ns);
	}
	bm_json_add_int(by, "uid", g->confirmed_uid);
	bm_json_add_string(by, "how", g->confirmed_how);
	bm_json_add(json, "confirmed", by);
	if (g->with_secret)
		bm_json_add_bool(json, "with_secret", true);
	if (g->ask) {
		snprintf(id, sizeof(id), "%s/r%u", bench->name, g->ask);
		bm_json_add_string(json, "request", id);
	}
	if (g->kind == GRANT_NET && g->profile) {
		bm_json_add_string(json, "profile", g->profile);
		grant_seal_to_json(json, g);
		bm_json_add(json, "hosts", hosts_to_json(&g->hosts));
		return json;
	}
	if (g->kind == GRANT_NET) {
		bm_json_add_string(
			json, "destination",
			bm_destination_format(&g->hosts.list[0].list[0].to, destination));
		return json;
	}
	if (g->kind == GRANT_LISTEN) {
		listen_to_json(json, &g->hosts);
		return json;
	}
	if (g->kind == GRANT_BROKER) {
		broker_to_json(json, g->broker, &g->hosts.list[0].list[0].to);
		return json;
	}
	bm_json_add_string(json, "source", g->source);
	bm_json_add_string(json, "dest", g->dest);
	bm_json_add_string(json, "rights", g->writable ? "rw" : "ro");
	bm_json_add_bool(json, "directory", g->directory);
	bm_json_add_bool(json, "idmap", g->idmap);
	bm_json_add_string(json, "on_revoke", g->report ? "report" : "kill");
	if (g->adopted)
		bm_json_add_bool(json, "adopted", true);
	if (g->learn)
		bm_json_add_bool(json, "learn", true);
	bm_json_add_int(json, "object", (int64_t)g->object);
	bm_json_add_int(json, "device", (int64_t)g->device);
	bm_json_add_int(json, "inode", (int64_t)g->inode);
	if (g->secret)
		bm_json_add_bool(json, "secret", true);
	if (g->unscanned)
		bm_json_add_bool(json, "unscanned", true);
	if (g->over)
		bm_json_add_bool(json, "over", true);
	if (g->except_count)
		bm_json_add(json, "except", excepts_to_json(g->excepts, g->except_count, true));
	return json;
}

static bool take_string(struct json_object *json, const char *key, char *to, size_t size)
{
	const char *value = bm_json_string(json, key);

	return value && (size_t)snprintf(to, size, "%s", value) < size;
}

static bool own_string(struct json_object *json, const char *key, char **ret, size_t size)
{
	const char *value = bm_json_string(json, key);

	if (!value || strlen(value) >= size)
		return false;
	*ret = strdup(value);
	return *ret;
}

static bool file_from_json(struct json_object *json, struct grant *g)
{
	const char *on_revoke = bm_json_string(json, "on_revoke");
	const char *rights = bm_json_string(json, "rights");
	struct json_object *excepts;
	int64_t object, device, inode;

	if (!own_string(json, "source", &g->source, PATH_MAX) ||
	    !own_string(json, "dest", &g->dest, DEST_LEN) || !rights ||
	    bm_json_int(json, "object", &object) < 0 || bm_json_int(json, "device", &device) < 0 ||
	    bm_json_int(json, "inode", &inode) < 0 ||
	    (strcmp(rights, "rw") && strcmp(rights, "ro")))
		return false;
	g->writable = !strcmp(rights, "rw");
	g->directory = bm_json_bool(json, "directory");
	g->idmap = bm_json_bool(json, "idmap");
	g->report = on_revoke && !strcmp(on_revoke, "report");
	g->adopted = bm_json_bool(json, "adopted");
	g->learn = bm_json_bool(json, "learn");
	g->object = (uint64_t)object;
	g->device = (uint64_t)device;
	g->inode = (uint64_t)inode;
	g->over = bm_json_bool(json, "over");
	g->secret = bm_json_bool(json, "secret");
	g->unscanned = bm_json_bool(json, "unscanned");
	return !json_object_object_get_ex(json, "except", &excepts) ||
	       excepts_from_json(excepts, true, &g->excepts, &g->except_count) == 0;
}

void grant_seal_to_json(struct json_object *json, const struct grant *g)
{
	char text[BM_TIME_LEN];

	bm_json_add_string(json, "seal", g->seal);
	bm_json_add_int(json, "seal_expiry", g->seal_expiry);
	bm_json_add_string(json, "seal_expires",
			   bm_time_format((uint64_t)g->seal_expiry * 1000000000, text));
}

int grant_seal_from_json(struct json_object *json, struct grant *g)
{
	char *seal = NULL;

	if (!own_string(json, "seal", &seal, BM_SEAL_DIGEST_LEN))
		return -EBADMSG;
	free(g->seal);
	g->seal = seal;
	return bm_json_int(json, "seal_expiry", &g->seal_expiry) == 0 && g->seal_expiry > 0
		       ? 0
		       : -EBADMSG;
}

int grant_from_json(struct json_object *json, struct grant **ret)
{
	struct json_object *by = bm_json_get(json, "confirmed", json_type_object);
	BM_CLEANUP(grant_freep) struct grant *g = calloc(1, sizeof(*g));
	const char *id = bm_json_string(json, "id");
	char bench[BM_BENCH_NAME_LEN];
	int64_t uid, expiry;

	if (!g)
		return -ENOMEM;
	if (!id || bm_grant_id_parse(id, bench, &g->number) < 0 || !by ||
	    bm_json_int(by, "uid", &uid) < 0 ||
	    !take_string(by, "how", g->confirmed_how, sizeof(g->confirmed_how)) ||
	    !take_string(json, "created", g->created, sizeof(g->created)) ||
	    grant_kind_parse(bm_json_string(json, "kind"), &g->kind) < 0)
		return -EBADMSG;
	g->confirmed_uid = (uint32_t)uid;
	g->with_secret = bm_json_bool(json, "with_secret");
	id = bm_json_string(json, "request");
	if (id && ask_id_parse(id, bench, &g->ask) < 0)
		return -EBADMSG;
	if (bm_json_int(json, "expiry_ns", &expiry) == 0) {
		g->expiry_ns = (uint64_t)expiry;
		id = bm_json_string(json, "expires");
		if (!id || bm_time_parse(id, &g->expires_ns) < 0)
			return -EBADMSG;
	}
	if (g->kind == GRANT_FILE) {
		if (!file_from_json(json, g))
			return -EBADMSG;
	} else if (g->kind == GRANT_LISTEN) {
		if (listen_from_json(json, &g->hosts, NULL) < 0 || !g->hosts.count)
			return -EBADMSG;
	} else if (g->kind == GRANT_BROKER) {
		struct bm_destination endpoint;
		int r = broker_from_json(json, &g->broker, &endpoint);

		if (r < 0 || hosts_of_address(&endpoint, &g->hosts) < 0)
			return r < 0 ? r : -ENOMEM;
	} else if (own_string(json, "profile", &g->profile, BM_PROFILE_NAME_LEN)) {
		if (grant_seal_from_json(json, g) < 0)
			return -EBADMSG;
	} else {
		const char *destination = bm_json_string(json, "destination");
		struct bm_destination d;

		if (!destination || bm_destination_parse(destination, &d, NULL) < 0)
			return -EBADMSG;
		if (hosts_of_address(&d, &g->hosts) < 0)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(g);
	return 0;
}
