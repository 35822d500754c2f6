// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/rule_four.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/step.h"
#include "gatekeeperd/lifecycle.h"

#define RULE "never-both"

static const struct {
	enum way way;
	const char *name;
} ways_named[] = {
	{ WAY_SECRET, "secret" },
	{ WAY_EGRESS, "egress" },
	{ WAY_BROKER, "broker" },
};
#define WAYS (sizeof(ways_named) / sizeof(ways_named[0]))

uint32_t kind_ways(enum grant_kind kind, bool secret)
{
	uint32_t ways = secret ? WAY_SECRET : 0;

	if (kind == GRANT_BROKER)
		ways |= WAY_BROKER;
	else if (grant_kind_is_egress(kind))
		ways |= WAY_EGRESS;
	return ways;
}

uint32_t grant_ways(const struct grant *g)
{
	return kind_ways(g->kind, g->secret);
}

/* The ledger's and the kernel's, which may know more: somebody went past us. */
static uint32_t ever(struct daemon *d, const struct bench *bench)
{
	uint32_t in_kernel = 0;

	bm_ever_get(d->kernel, bench->cgroup.id, &in_kernel);
	return bench->ever | in_kernel;
}

/* The grant that shows it, where it still is: "" else. */
static const char *shown_by(const struct bench *bench, uint32_t way, char text[64])
{
	text[0] = '\0';
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (grant_ways(g) & way)
			snprintf(text, 64, " (%s/%u)", bench->name, g->number);
	return text;
}

static int refuse(const struct bench *bench, uint32_t had, const char *what, struct bm_error *err)
{
	char by[64];

	return bm_fail(err, EPERM, RULE, "make another Bench for it",
		       "Bench %s has, or had, %s%s: for its life it never gets %s", bench->name,
		       had == WAY_EGRESS ? "egress" : "a secret", shown_by(bench, had, by), what);
}

int rule_four_check(struct daemon *d, const struct bench *bench, uint32_t ways, bool with_secret,
		    struct bm_error *err)
{
	uint32_t had = ever(d, bench);
	char by[64];

	if (ways & WAY_SECRET && bench->learns)
		return bm_fail(err, EPERM, RULE, "make another Bench for it",
			       "Bench %s learns and is not enforced: it never gets a secret",
			       bench->name);
	if (ways & WAY_SECRET && had & WAY_EGRESS)
		return refuse(bench, WAY_EGRESS, "a secret", err);
	if (ways & WAY_EGRESS && had & WAY_SECRET)
		return refuse(bench, WAY_SECRET, "egress", err);
	if (with_secret)
		return 0;
	if (ways & WAY_SECRET && had & WAY_BROKER)
		return bm_fail(err, EPERM, RULE, "confirm both with --with-secret",
			       "Bench %s has, or had, a broker%s, to whose upstream the secret "
			       "could leave",
			       bench->name, shown_by(bench, WAY_BROKER, by));
	if (ways & WAY_BROKER && had & WAY_SECRET)
		return bm_fail(err, EPERM, RULE, "confirm both with --with-secret",
			       "Bench %s has, or had, a secret%s, which could leave to the "
			       "broker's upstream",
			       bench->name, shown_by(bench, WAY_SECRET, by));
	return 0;
}

static struct json_object *ways_to_json(uint32_t ways)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < WAYS; i++)
		if (ways & ways_named[i].way)
			json_object_array_add(list, json_object_new_string(ways_named[i].name));
	return list;
}

struct json_object *rule_four_to_json(struct daemon *d, const struct bench *bench)
{
	return ways_to_json(ever(d, bench));
}

static int record_ever(struct daemon *d, struct bench *bench, uint32_t had, struct bm_error *err)
{
	struct json_object *fields;
	int r;

	if (!(had & ~bench->ever))
		return 0;
	fields = json_object_new_object();
	had |= bench->ever;
	bm_json_add(fields, "had", ways_to_json(had));
	r = bench_record(d, bench, "ever", fields, err);
	if (r == 0)
		bench->ever = had;
	return r;
}

int rule_four_begin(struct daemon *d, struct bench *bench, const struct grant *g,
		    struct bm_error *err)
{
	uint32_t ways = grant_ways(g);
	int r = rule_four_check(d, bench, ways, g->with_secret, err);

	if (r == 0)
		r = record_ever(d, bench, ways, err);
	STEP(RULE_FOUR_SAID);
	if (r == 0 && ways & (WAY_SECRET | WAY_EGRESS))
		r = bm_ever_claim(d->kernel, bench->cgroup.id,
				  ways & WAY_SECRET ? BM_EVER_SECRET : BM_EVER_EGRESS, err);
	STEP(RULE_FOUR_CLAIMED);
	return r;
}

int rule_four_learn(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	int r = record_ever(d, bench, WAY_EGRESS, err);

	return r < 0 ? r : bm_ever_claim(d->kernel, bench->cgroup.id, BM_EVER_EGRESS, err);
}

int rule_four_reached(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	int r = rule_four_check(d, bench, WAY_SECRET, false, err);

	if (r == 0)
		r = record_ever(d, bench, WAY_SECRET, err);
	return r < 0 ? r : bm_ever_claim(d->kernel, bench->cgroup.id, BM_EVER_SECRET, err);
}

void rule_four_describe(struct json_object *json, const struct bench *bench, uint32_t ways)
{
	uint32_t other = ways & WAY_BROKER ? WAY_SECRET : ways & WAY_SECRET ? WAY_BROKER : 0;
	struct json_object *list;
	char text[PATH_MAX + 64];

	if (!(bench->ever & other))
		return;
	list = json_object_new_array();
	for (const struct grant *g = bench->grants; g; g = g->next) {
		if (!(grant_ways(g) & other))
			continue;
		snprintf(text, sizeof(text), "%s/%u %s", bench->name, g->number,
			 g->kind == GRANT_FILE ? g->source : grant_kind_name(g->kind));
		json_object_array_add(list, json_object_new_string(text));
	}
	if (!json_object_array_length(list)) {
		snprintf(text, sizeof(text), "what was read of a %s that it had",
			 other == WAY_SECRET ? "secret" : "broker's answers");
		json_object_array_add(list, json_object_new_string(text));
	}
	bm_json_add(json, "leaves", list);
}

int rule_four_adopt(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	uint32_t in_kernel = 0;
	int r = bm_ever_get(d->kernel, bench->cgroup.id, &in_kernel);

	if (r < 0)
		return bm_fail_errno(err, -r, "what Bench %s ever had", bench->name);
	for (const struct grant *g = bench->grants; g; g = g->next)
		in_kernel |= grant_ways(g);
	r = bm_ever_add(d->kernel, bench->cgroup.id,
			(bench->ever | in_kernel) & (WAY_SECRET | WAY_EGRESS));
	if (r < 0)
		return bm_fail_errno(err, -r, "what Bench %s ever had", bench->name);
	return record_ever(d, bench, in_kernel, err);
}

int rule_four_replay(struct bench *bench, struct json_object *json)
{
	struct json_object *list = bm_json_get(json, "had", json_type_array);

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		const char *name = json_object_is_type(item, json_type_string)
					   ? json_object_get_string(item)
					   : "";
		size_t way = 0;

		while (way < WAYS && strcmp(ways_named[way].name, name))
			way++;
		if (way == WAYS)
			return -EBADMSG;
		bench->ever |= ways_named[way].way;
	}
	return list ? 0 : -EBADMSG;
}
