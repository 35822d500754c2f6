// SPDX-License-Identifier: GPL-2.0-only
/* The last denial that was recorded of a Bench, in words. */
#include "gatekeeperd/why.h"

#include <errno.h>

#include "audit/explain.h"
#include "audit/peek.h"

/* So many numbers back, where memory has nothing of it any more. */
#define LOOK_BACK 64

static void keep_denial(struct json_object **last, const char *line)
{
	struct json_object *event;
	char verdict[8];

	bm_peek_string(line, "verdict", verdict, sizeof(verdict));
	if (strcmp(verdict, "deny"))
		return;
	event = json_tokener_parse(line);
	if (!event)
		return;
	json_object_put(*last);
	*last = event;
}

static int read_from(struct daemon *d, const struct bench *bench, const uint64_t *since,
		     struct json_object **last)
{
	struct bm_reader reader;
	enum bm_reader_state state;
	const char *line;
	uint64_t missed;
	int r = 0;

	bm_reader_attach(&reader, d->store, bench->name, since ? *since : 0);
	bm_reader_of(&reader, bench->id);
	if (since)
		r = bm_reader_resume(&reader);
	while (r == 0 && (state = bm_reader_next(&reader, &line, &missed)) != BM_READER_EMPTY)
		if (state == BM_READER_LINE)
			keep_denial(last, line);
	bm_reader_detach(&reader);
	return r;
}

static uint32_t rule_of(const char *name)
{
	uint32_t rule = 0;

	while (name && rule < BM_RULE_MAX && strcmp(bm_rule_name(rule), name))
		rule++;
	return rule;
}

static void explain(struct json_object *event, struct json_object *why)
{
	static const char *const keys[] = { "hook", "rule", "hint" };
	struct json_object *object = bm_json_get(event, "object", json_type_object);
	uint32_t rule = rule_of(bm_json_string(event, "rule"));
	const char *grant = object ? bm_json_string(object, "grant") : NULL,
		   *remedy = bm_rule_remedy(rule);

	bm_json_add_string(why, "verdict", "deny");
	bm_json_add_string(why, "layer", rule == BM_RULE_EXEC_REFUSED ? "mount" : "bpf");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (bm_json_string(event, keys[i]))
			bm_json_add_string(why, keys[i], bm_json_string(event, keys[i]));
	if (grant)
		bm_json_add_string(why, "grant", grant);
	bm_json_add_string(why, "sentence", bm_rule_sentence(rule));
	if (remedy && !bm_json_string(event, "hint"))
		bm_json_add_string(why, "remedy", remedy);
	bm_json_add(why, "event", json_object_get(event));
}

int why_last(struct daemon *d, struct bench *bench, struct json_object *why, struct bm_error *err)
{
	autojson *last = NULL;
	uint64_t told, since;
	int r;

	streams_settle(d);
	told = bm_store_told(d->store, bench->id);
	since = told > LOOK_BACK ? told - LOOK_BACK : 0;
	r = read_from(d, bench, NULL, &last);
	if (r == 0 && !last)
		r = read_from(d, bench, &since, &last);
	if (r < 0)
		return bm_fail_errno(err, -r, "stored events");
	if (last) {
		explain(last, why);
		return 0;
	}
	bm_json_add_string(why, "verdict", "none");
	bm_json_add_string(why, "sentence", "nothing that is kept was denied to it");
	return 0;
}
