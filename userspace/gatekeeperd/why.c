// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit/explain.h"

static struct json_object *layers_of(struct json_object *why)
{
	struct json_object *list = bm_json_get(why, "layers", json_type_array);

	if (!list) {
		list = json_object_new_array();
		bm_json_add(why, "layers", list);
	}
	return list;
}

void why_layer(struct json_object *why, const char *layer, const char *rule, const char *hook,
	       const char *at)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "layer", layer);
	bm_json_add_string(json, "verdict", rule ? "deny" : "allow");
	if (rule)
		bm_json_add_string(json, "rule", rule);
	if (hook)
		bm_json_add_string(json, "hook", hook);
	if (at)
		bm_json_add_string(json, "at", at);
	json_object_array_add(layers_of(why), json);
}

void why_missing(struct json_object *why, const char *layer)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "layer", layer);
	bm_json_add_string(json, "verdict", "missing");
	json_object_array_add(layers_of(why), json);
}

void why_grant(struct json_object *why, const struct bench *bench, uint32_t number)
{
	char id[BM_BENCH_NAME_LEN + 16];

	if (!number)
		return;
	snprintf(id, sizeof(id), "%s/%u", bench->name, number);
	bm_json_add_string(why, "grant", id);
}

void why_judge(struct json_object *why, uint32_t rule)
{
	static const char *const keys[] = { "layer", "rule", "hook" };
	struct json_object *list = layers_of(why), *first = NULL;
	const char *name, *remedy;

	for (size_t i = 0; !first && i < json_object_array_length(list); i++) {
		struct json_object *layer = json_object_array_get_idx(list, i);

		if (!strcmp(bm_json_string(layer, "verdict"), "deny"))
			first = layer;
	}
	bm_json_add_string(why, "verdict", first ? "deny" : "allow");
	if (!first)
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (bm_json_string(first, keys[i]))
			bm_json_add_string(why, keys[i], bm_json_string(first, keys[i]));
	name = bm_json_string(first, "rule");
	if (!strcmp(name, bm_rule_name(BM_RULE_EXEC_REFUSED)))
		rule = BM_RULE_EXEC_REFUSED;
	bm_json_add_string(why, "sentence",
			   strcmp(name, "read-only") ? bm_rule_sentence(rule)
						     : "it is mounted read-only");
	remedy = bm_rule_remedy(rule);
	if (remedy && !bm_json_string(why, "hint"))
		bm_json_add_string(why, "remedy", remedy);
}

int request_why(struct daemon *d, struct connection *c, struct bm_message *message,
		struct json_object **ret_reply, struct bm_error *err)
{
	const char *kind = bm_json_string(message->json, "kind"),
		   *target = bm_json_string(message->json, "target");
	autojson *why = json_object_new_object();
	struct bench *bench;
	int r = bench_of_request(d, c, message->json, &bench, err);

	if (r < 0)
		return r;
	bm_json_add_string(why, "bench", bench->name);
	bm_json_add_string(why, "kind", kind ?: "");
	if (target)
		bm_json_add_string(why, "target", target);
	if (kind && !strcmp(kind, "last"))
		r = why_last(d, bench, why, err);
	else if (!kind || !target || (strcmp(kind, "file") && strcmp(kind, "net")))
		r = bm_fail(err, EINVAL, "protocol", NULL,
			    "why asks about a file, a destination (net), or the last denial");
	else if (!bench_alive(bench) || bench->target.ns[BM_NS_MNT] < 0)
		r = bm_fail(err, ESRCH, NULL, "see `benchmon why BENCH last`, and its receipt",
			    "nothing lives in Bench %s any more: there is nothing to ask about",
			    bench->name);
	else if (bench->learns)
		r = bm_fail(err, EBUSY, NULL,
			    "ask `benchmon suggest` what it would need, or why last",
			    "Bench %s learns: what no grant gives is let through and told",
			    bench->name);
	else if (!strcmp(kind, "file"))
		r = why_file(d, bench, message->json, why, err);
	else
		r = why_net(d, bench, message->json, why, err);
	if (r < 0)
		return r;
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "why", json_object_get(why));
	return 0;
}
