// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model said again, in a new file of the ledger, so that a start reads that file alone. The
 * lines are those from which it came to be, without what has come and gone.
 */
#include "gatekeeperd/record.h"

#include <errno.h>
#include <stdio.h>

#include "gatekeeperd/carriers.h"
#include "gatekeeperd/asks.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/receipt.h"

static struct json_object *of_grant(const struct grant *g)
{
	struct json_object *fields = json_object_new_object();

	bm_json_add_int(fields, "grant", g->number);
	return fields;
}

static int restate_standing(struct daemon *d, const struct bench *bench, struct bm_error *err)
{
	size_t count = bench->standing ? json_object_array_length(bench->standing) : 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const char *text =
			json_object_get_string(json_object_array_get_idx(bench->standing, i));
		struct json_object *fields = NULL;
		char was[64];

		r = bm_json_parse(text, strlen(text), "what stands", &fields, err);
		if (r < 0)
			return r;
		/* It goes with fields, and says "was" of its own. */
		snprintf(was, sizeof(was), "%s", bm_json_string(fields, "was"));
		r = daemon_record(d, was, fields, err);
	}
	return r;
}

/* In the midst of a refresh both are the ledger's. */
static int restate_hosts(struct daemon *d, struct bench *bench, const struct grant *g,
			 struct bm_error *err)
{
	struct json_object *fields;
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->hosts.count; i++) {
		if (!g->hosts.list[i].revoked)
			continue;
		fields = of_grant(g);
		bm_json_add_string(fields, "host", g->hosts.list[i].name);
		r = bench_record(d, bench, "revoke-host", fields, err);
	}
	if (r < 0 || !g->next_hosts.count)
		return r;
	r = hosts_record(d, bench, g->number, &g->next_hosts, err);
	if (r < 0)
		return r;
	fields = of_grant(g);
	grant_seal_to_json(fields, g);
	return bench_record(d, bench, "refresh", fields, err);
}

static int restate_end(struct daemon *d, const struct bench *bench, const struct grant *g,
		       bool closed, struct bm_error *err)
{
	struct json_object *fields = of_grant(g), *mounts = json_object_new_array();

	for (size_t i = 0; i < GRANT_MOUNTS && g->mounts[i]; i++)
		json_object_array_add(mounts, json_object_new_int64((int64_t)g->mounts[i]));
	bm_json_add(fields, "mounts", mounts);
	if (closed)
		bm_json_add_bool(fields, "closed", true);
	return bench_record(d, bench, "revoke", fields, err);
}

static int restate_grant(struct daemon *d, struct bench *bench, const struct grant *g,
			 struct bm_error *err)
{
	bool hosts = g->kind == GRANT_NET && g->profile;
	int r = hosts ? hosts_record(d, bench, g->number, &g->hosts, err) : 0;

	if (r == 0)
		r = bench_record(d, bench, "grant", grant_to_json(bench, g), err);
	return r == 0 && hosts ? restate_hosts(d, bench, g, err) : r;
}

/* The one with the lowest number above; NULL: none. */
static const struct grant *next_in(const struct grant *list, uint32_t above,
				   const struct grant *best)
{
	for (; list; list = list->next)
		if (list->number > above && (!best || list->number < best->number))
			best = list;
	return best;
}

static bool in(const struct grant *list, const struct grant *g)
{
	while (list && list != g)
		list = list->next;
	return list;
}

/* Those that are in force, and those of which something may still be held or kept closed. */
static int restate_grants(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	const struct grant *g;
	uint32_t last = 0;
	int r = 0;

	while (r == 0) {
		g = next_in(bench->grants, last,
			    next_in(bench->revoked, last, next_in(bench->closed, last, NULL)));
		if (!g)
			break;
		last = g->number;
		r = restate_grant(d, bench, g, err);
		if (r == 0 && !in(bench->grants, g))
			r = restate_end(d, bench, g, in(bench->closed, g), err);
	}
	/* Its number is used up. */
	if (r == 0 && last < bench->last_grant)
		r = restate_end(d, bench, &(struct grant){ .number = bench->last_grant }, false,
				err);
	return r;
}

static int restate_ask(struct daemon *d, const struct ask *ask, struct bm_error *err)
{
	struct bench *bench = ask->bench_id ? model_find_id(&d->model, ask->bench_id) : NULL;

	if (!ask->bench_id)
		return daemon_record(d, "requested", ask_to_json(ask), err);
	return bench ? bench_record(d, bench, "requested", ask_to_json(ask), err) : 0;
}

/* How far the numbers have come, and those that are pending. */
static int restate_asks(struct daemon *d, uint32_t bench_id, struct bm_error *err)
{
	struct bench *bench = bench_id ? model_find_id(&d->model, bench_id) : NULL;
	struct json_object *fields;
	int r = 0;

	for (const struct ask *a = d->model.asks; r == 0 && a; a = a->next)
		if (a->bench_id == bench_id)
			r = restate_ask(d, a, err);
	if (r < 0 || !bench || !bench->last_ask)
		return r;
	fields = json_object_new_object();
	bm_json_add_int(fields, "last", bench->last_ask);
	return bench_record(d, bench, "requests", fields, err);
}

int restate(struct daemon *d, struct bm_error *err)
{
	int r = carriers_restate(d, err);

	if (r == 0)
		r = restate_asks(d, 0, err);

	for (struct bench *b = d->model.benches; r == 0 && b; b = b->next) {
		if (!b->begun)
			continue;
		r = restate_standing(d, b, err);
		if (r == 0)
			r = restate_grants(d, b, err);
		if (r == 0)
			r = receipt_restate(d, b, err);
		if (r == 0)
			r = restate_asks(d, b->id, err);
	}
	return r;
}
