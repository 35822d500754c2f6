// SPDX-License-Identifier: GPL-2.0-only
/* What is said to a broker and what it says; and what the record keeps of that. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/lifecycle.h"

#define METHOD_LEN 32
#define PATH_LEN 2080
#define WORD_LEN 64

/* What a client may name it by, with the port or without. */
static struct json_object *hosts_of(const struct grant *g)
{
	const struct bm_destination *endpoint = &g->hosts.list[0].list[0].to;
	struct json_object *list = json_object_new_array();
	char host[BROKER_HOST_LEN], address[INET_ADDRSTRLEN], text[BM_DESTINATION_LEN];

	broker_host(g->broker, host);
	inet_ntop(AF_INET, endpoint->address + 12, address, sizeof(address));
	json_object_array_add(list, json_object_new_string(host));
	json_object_array_add(list, json_object_new_string(address));
	snprintf(text, sizeof(text), "%s:%u", host, endpoint->port);
	json_object_array_add(list, json_object_new_string(text));
	snprintf(text, sizeof(text), "%s:%u", address, endpoint->port);
	json_object_array_add(list, json_object_new_string(text));
	return list;
}

static int check_definition(const struct broker_definition *def, const struct bench *bench,
			    const struct grant *g, struct bm_error *err)
{
	char remedy[96];

	if (!strcmp(def->digest, g->broker->definition))
		return 0;
	snprintf(remedy, sizeof(remedy), "revoke %s/%u, and grant it again", bench->name,
		 g->number);
	return bm_fail(err, ESTALE, "broker", remedy,
		       "the definition of broker %s is not the one that was granted",
		       g->broker->name);
}

int broker_first(const struct bench *bench, const struct grant *g, struct json_object **ret,
		 int *ret_credential, struct bm_error *err)
{
	autojson *json = json_object_new_object(), *of = json_object_new_object();
	autodefinition def = {};
	char id[BM_GRANT_ID_LEN], from[PATH_MAX];
	struct json_object *addresses, *used;
	int r = broker_find(g->broker->name, &def, err);

	if (r == 0)
		r = check_definition(&def, bench, g, err);
	if (r == 0)
		r = broker_credential(g->broker->name, ret_credential, from, err);
	if (r < 0)
		return r;
	snprintf(id, sizeof(id), "%s/%u", bench->name, g->number);
	bm_json_add_int(json, "v", 1);
	bm_json_add_string(json, "bench", bench->name);
	bm_json_add_string(json, "grant", id);
	bm_json_add(json, "definition", json_object_get(def.json));
	if (g->broker->setting)
		bm_json_add_string(json, "upstream", g->broker->upstream);
	broker_to_json(of, g->broker, &g->hosts.list[0].list[0].to);
	addresses = bm_json_get(of, "addresses", json_type_array);
	bm_json_add(json, "addresses", json_object_get(addresses));
	bm_json_add(json, "hosts", hosts_of(g));
	bm_json_add(json, "limits", bm_broker_limits_to_json(&g->broker->limits));
	used = json_object_new_object();
	bm_json_add_int(used, "requests", (int64_t)broker_used_calls(g->broker));
	bm_json_add_int(used, "bytes", (int64_t)broker_used_bytes(g->broker));
	bm_json_add(json, "used", used);
	*ret = TAKE_PTR(json);
	return 0;
}

/* --- limits ------------------------------------------------------------------------------------
 * So much is used at most that the ledger has no word of: a daemon that ends by force forgets it.
 */

#define SHARES 16

static uint64_t share_of(uint64_t limit)
{
	return limit ? limit / SHARES + 1 : 0;
}

static bool has_to_say(const struct grant_broker *broker)
{
	const struct bm_broker_limits *l = &broker->limits;
	struct grant_broker said = { .count = broker->said };

	return (l->requests &&
		broker_used_calls(broker) - broker_used_calls(&said) >= share_of(l->requests)) ||
	       (l->bytes &&
		broker_used_bytes(broker) - broker_used_bytes(&said) >= share_of(l->bytes));
}

void broker_charge(struct grant_broker *broker, bool daemon)
{
	const struct bm_broker_limits *l = &broker->limits;

	/* Those that were being made when it ended are in no record. */
	if (l->requests)
		broker->count.lost_calls += l->concurrent + (daemon ? share_of(l->requests) : 0);
	if (l->bytes && daemon)
		broker->count.lost_bytes += share_of(l->bytes);
}

void broker_record(struct daemon *d, const struct bench *bench, const struct grant *g,
		   const char *what, const char *why)
{
	struct json_object *fields = json_object_new_object();
	struct bm_error err = {};

	bm_json_add_int(fields, "grant", g->number);
	bm_json_add_string(fields, "what", what);
	if (why)
		bm_json_add_string(fields, "why", why);
	broker_count_to_json(fields, g->broker);
	if (bench_record(d, bench, "broker", fields, &err) < 0)
		daemon_log_error("record of a broker", &err);
	else
		g->broker->said = g->broker->count;
}

/* --- calls ---------------------------------------------------------------------------------------
 */

static void add_text(struct json_object *to, const char *key, struct json_object *from, size_t size)
{
	const char *text = bm_json_string(from, key);
	char shown[PATH_LEN];

	if (text)
		bm_json_add_string(to, key, bm_escape(text, shown, size));
}

static uint64_t add_number(struct json_object *to, const char *key, struct json_object *from)
{
	int64_t number;

	if (bm_json_int(from, key, &number) < 0 || number < 0)
		return 0;
	bm_json_add_int(to, key, number);
	return (uint64_t)number;
}

/* A process that a Bench talks to says it: nothing is taken over but what is looked for. */
void broker_call(struct daemon *d, const struct bench *bench, struct grant *g,
		 struct json_object *call)
{
	autojson *event = json_object_new_object();
	char now[BM_TIME_LEN], id[BM_GRANT_ID_LEN];

	snprintf(id, sizeof(id), "%s/%u", bench->name, g->number);
	bm_json_add_string(event, "schema", "benchmon/1");
	bm_json_add_string(event, "time", bm_time_format(bm_now_ns(CLOCK_REALTIME), now));
	bm_json_add_string(event, "bench", bench->name);
	bm_json_add_int(event, "id", bench->id);
	/* It has no number of the kernel's: behind which of those it stands. */
	bm_json_add_int(event, "after", (int64_t)bench->events.told);
	bm_json_add_string(event, "type", "call");
	bm_json_add_string(event, "grant", id);
	bm_json_add_string(event, "broker", g->broker->name);
	add_number(event, "number", call);
	add_text(event, "method", call, METHOD_LEN);
	add_text(event, "path", call, PATH_LEN);
	add_number(event, "status", call);
	g->broker->count.bytes_in += add_number(event, "bytes_in", call);
	g->broker->count.bytes_out += add_number(event, "bytes_out", call);
	add_number(event, "ms", call);
	add_text(event, "refused", call, WORD_LEN);
	add_text(event, "cut", call, WORD_LEN);
	add_number(event, "hidden", call);
	if (bench->owner)
		bm_json_add_int(event, "owner", bench->owner);
	g->broker->count.calls++;
	g->broker->count.refused += bm_json_string(event, "refused") != NULL;
	bm_store_add(d->store, event);
	streams_wake(d);
	if (has_to_say(g->broker))
		broker_record(d, bench, g, "counted", NULL);
}
