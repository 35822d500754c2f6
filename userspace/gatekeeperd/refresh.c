// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/refresh.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/step.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/names.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/recall.h"

/* Of a reply; an error of each still fits a message. */
#define TOLD_MAX 32

static struct json_object *fields_of(const struct grant *g)
{
	struct json_object *fields = json_object_new_object();

	bm_json_add_int(fields, "grant", g->number);
	return fields;
}

/* The ledger has both from then on, and the kernel no more than both. */
static int begin(struct daemon *d, struct bench *bench, struct grant *g,
		 const struct bm_sealed *next, struct bm_error *err)
{
	autofree char *seal = malloc(BM_SEAL_DIGEST_LEN);
	char *before = g->seal;
	int64_t expiry = g->seal_expiry;
	struct json_object *fields;
	autohosts hosts = {};
	int r = seal ? hosts_of_sealed(next, &hosts) : -ENOMEM;

	if (r < 0)
		return bm_fail_errno(err, -r, "hosts of profile %s", next->name);
	hosts_inherit(&hosts, &g->hosts);
	r = hosts_record(d, bench, g->number, &hosts, err);
	STEP(REFRESH_HOSTS_SAID);
	if (r == 0)
		r = bm_seal_digest(next, seal);
	if (r < 0)
		return r;
	g->seal = seal;
	g->seal_expiry = next->expires;
	fields = fields_of(g);
	grant_seal_to_json(fields, g);
	r = bench_record(d, bench, "refresh", fields, err);
	STEP(REFRESH_SAID);
	if (r < 0) {
		g->seal = before;
		g->seal_expiry = expiry;
		return r;
	}
	TAKE_PTR(seal);
	free(before);
	hosts_done(&g->next_hosts);
	g->next_hosts = hosts;
	hosts = (struct grant_hosts){};
	return 0;
}

int net_refresh_end(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err)
{
	struct grant next = { .kind = GRANT_NET, .hosts = g->next_hosts };
	autojson *found = json_object_new_array();
	struct reach reach = { .grant = g };
	autofree struct grant_dest *list = NULL;
	size_t count = 0, gone = 0, sockets = 0;
	int r = reach_list(&reach, &list, &count);

	for (size_t i = 0; r == 0 && i < count; i++)
		if (!grant_reaches(&next, &list[i].to))
			list[gone++] = list[i];
	if (r == 0)
		r = net_close(d, bench, &reach, list, gone, found, &sockets, err);
	STEP(REFRESH_CLOSED);
	if (r == 0)
		r = bench_record(d, bench, "refreshed", fields_of(g), err);
	STEP(REFRESH_ENDED);
	if (r < 0)
		return r;
	grant_refreshed(g);
	if (names_update(d, bench, NULL, err) < 0)
		return -err->code;
	daemon_log(LOG_LEVEL_INFO, "refreshed %s/%u: %zu addresses gone, connections ended: %zu",
		   bench->name, g->number, gone, sockets);
	return 0;
}

/* How many of the one the other has not; *ret_kept: how many of the one are to end before it does.
 */
static int count_missing(const struct grant_hosts *of, const struct grant_hosts *in, size_t *ret,
			 size_t *ret_kept)
{
	struct grant all = { .kind = GRANT_NET, .hosts = *of };
	struct grant other = { .kind = GRANT_NET, .hosts = *in };
	autofree struct grant_dest *list = NULL;
	size_t count, missing = 0, kept = 0;
	int r = reach_list(&(struct reach){ .grant = &all }, &list, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		missing += !grant_reaches(&other, &list[i].to);
		kept += list[i].until != 0;
	}
	*ret = missing;
	if (ret_kept)
		*ret_kept = kept;
	return 0;
}

/* The grant has both. */
static void add_counts(struct json_object *json, const struct grant *g)
{
	size_t added, kept, dropped;

	if (count_missing(&g->next_hosts, &g->hosts, &added, &kept) < 0 ||
	    count_missing(&g->hosts, &g->next_hosts, &dropped, NULL) < 0)
		return;
	bm_json_add_int(json, "added", (int64_t)added);
	bm_json_add_int(json, "kept", (int64_t)kept);
	bm_json_add_int(json, "dropped", (int64_t)dropped);
}

static int refresh(struct daemon *d, struct bench *bench, struct grant *g,
		   const struct bm_sealed *next, struct json_object *told, struct bm_error *err)
{
	int r = begin(d, bench, g, next, err);

	if (r < 0)
		return r;
	add_counts(told, g);
	r = names_update(d, bench, NULL, err);
	if (r == 0)
		r = net_open_next(d, bench, g, err);
	STEP(REFRESH_OPENED);
	return r < 0 ? r : net_refresh_end(d, bench, g, err);
}

static struct json_object *tell(struct daemon *d, struct bench *bench, struct grant *g,
				const struct bm_sealed *next)
{
	struct json_object *told = json_object_new_object();
	char id[BM_GRANT_ID_LEN];
	struct bm_error err = {};
	int r;

	snprintf(id, sizeof(id), "%s/%u", bench->name, g->number);
	bm_json_add_string(told, "grant", id);
	r = refresh(d, bench, g, next, told, &err);
	if (r < 0) {
		bm_fail_errno(&err, -r, "refresh %s", id);
		daemon_log_error("refresh a grant", &err);
		bm_json_add(told, "error", bm_error_to_json(&err));
	}
	return told;
}

struct json_object *grants_refresh(struct daemon *d, const struct bm_sealed *next, uid_t uid)
{
	struct json_object *list = json_object_new_array();
	char seal[BM_SEAL_DIGEST_LEN] = "";
	size_t left_out = 0;

	bm_seal_digest(next, seal);
	for (struct bench *b = d->model.benches; b; b = b->next) {
		/* Another's goes on with what was confirmed for it. */
		if (b->state != BENCH_READY || !bench_alive(b) || !bench_is_of(b, uid))
			continue;
		for (struct grant *g = b->grants; g; g = g->next) {
			struct json_object *told;

			/* One that was just granted has it already. */
			if (!grant_is_of_profile(g, next->name) ||
			    (!strcmp(g->seal, seal) && !g->next_hosts.count))
				continue;
			told = tell(d, b, g, next);
			if (json_object_array_length(list) < TOLD_MAX) {
				json_object_array_add(list, told);
				continue;
			}
			json_object_put(told);
			left_out++;
		}
	}
	if (left_out) {
		struct json_object *more = json_object_new_object();

		bm_json_add_int(more, "left_out", (int64_t)left_out);
		json_object_array_add(list, more);
	}
	recall_review(d);
	return list;
}
