// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/refresh.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/names.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/recall.h"

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
	struct json_object *fields;
	autohosts hosts = {};
	int r = hosts_of_sealed(next, &hosts);

	if (r < 0)
		return bm_fail_errno(err, -r, "hosts of profile %s", next->name);
	hosts_inherit(&hosts, &g->hosts);
	r = hosts_record(d, bench, g->number, &hosts, err);
	if (r == 0)
		r = bm_seal_digest(next, g->seal);
	if (r < 0)
		return r;
	g->seal_expiry = next->expires;
	fields = fields_of(g);
	grant_seal_to_json(fields, g);
	r = bench_record(d, bench, "refresh", fields, err);
	if (r < 0)
		return r;
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
	if (r == 0)
		r = bench_record(d, bench, "refreshed", fields_of(g), err);
	if (r < 0)
		return r;
	grant_refreshed(g);
	if (names_update(d, bench, NULL, err) < 0)
		return -err->code;
	daemon_log(LOG_LEVEL_INFO, "refreshed %s/%u: %zu addresses gone, connections ended: %zu",
		   bench->name, g->number, gone, sockets);
	return 0;
}

static int refresh(struct daemon *d, struct bench *bench, struct grant *g,
		   const struct bm_sealed *next, struct bm_error *err)
{
	int r = begin(d, bench, g, next, err);

	if (r == 0)
		r = names_update(d, bench, NULL, err);
	if (r == 0)
		r = net_open_next(d, bench, g, err);
	return r < 0 ? r : net_refresh_end(d, bench, g, err);
}

void grants_refresh(struct daemon *d, const struct bm_sealed *next)
{
	for (struct bench *b = d->model.benches; b; b = b->next) {
		if (b->state != BENCH_READY || !bench_alive(b))
			continue;
		for (struct grant *g = b->grants; g; g = g->next) {
			struct bm_error err = {};

			if (g->kind == GRANT_NET && !strcmp(g->profile, next->name) &&
			    refresh(d, b, g, next, &err) < 0)
				daemon_log_error("refresh a grant", &err);
		}
	}
	recall_review(d);
}
