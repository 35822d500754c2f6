// SPDX-License-Identifier: GPL-2.0-only
/* A broker grant as it stands in the ledger, and in replies. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gatekeeperd/broker.h"

void grant_broker_free(struct grant_broker *broker)
{
	if (broker)
		free(broker->variables);
	free(broker);
}

const char *broker_host(const struct grant_broker *broker, char buf[BROKER_HOST_LEN])
{
	snprintf(buf, BROKER_HOST_LEN, "%s.broker", broker->name);
	return buf;
}

uint64_t broker_used_calls(const struct grant_broker *broker)
{
	const struct broker_count *c = &broker->count;

	return (c->calls > c->refused ? c->calls - c->refused : 0) + c->lost_calls;
}

uint64_t broker_used_bytes(const struct grant_broker *broker)
{
	return broker->count.bytes_in + broker->count.bytes_out + broker->count.lost_bytes;
}

void broker_count_to_json(struct json_object *json, const struct grant_broker *broker)
{
	struct json_object *calls = json_object_new_object();

	bm_json_add_int(calls, "count", (int64_t)broker->count.calls);
	bm_json_add_int(calls, "refused", (int64_t)broker->count.refused);
	bm_json_add_int(calls, "bytes_in", (int64_t)broker->count.bytes_in);
	bm_json_add_int(calls, "bytes_out", (int64_t)broker->count.bytes_out);
	if (broker->uncounted)
		bm_json_add_bool(calls, "uncounted", true);
	if (broker->count.lost_calls)
		bm_json_add_int(calls, "lost_calls", (int64_t)broker->count.lost_calls);
	if (broker->count.lost_bytes)
		bm_json_add_int(calls, "lost_bytes", (int64_t)broker->count.lost_bytes);
	bm_json_add(json, "calls", calls);
}

static const char *format_address(const uint8_t address[16], char buf[INET6_ADDRSTRLEN])
{
	struct bm_destination d = {};
	bool v4;

	memcpy(d.address, address, sizeof(d.address));
	v4 = bm_destination_is_v4(&d);
	return inet_ntop(v4 ? AF_INET : AF_INET6, address + (v4 ? 12 : 0), buf, INET6_ADDRSTRLEN);
}

static bool parse_address(const char *text, uint8_t ret[16])
{
	uint8_t address[16] = { [10] = 0xff, 0xff };

	if (inet_pton(AF_INET, text, address + 12) != 1 && inet_pton(AF_INET6, text, address) != 1)
		return false;
	memcpy(ret, address, sizeof(address));
	return true;
}

void broker_to_json(struct json_object *json, const struct grant_broker *broker,
		    const struct bm_destination *endpoint)
{
	struct json_object *addresses = json_object_new_array(), *env = json_object_new_object();
	char text[BM_DESTINATION_LEN], host[BROKER_HOST_LEN];

	bm_json_add_string(json, "broker", broker->name);
	bm_destination_format(endpoint, text);
	*strrchr(text, '/') = '\0';
	bm_json_add_string(json, "endpoint", text);
	bm_json_add_string(json, "host", broker_host(broker, host));
	bm_json_add_string(json, "upstream", broker->upstream);
	if (broker->setting)
		bm_json_add_bool(json, "setting", true);
	for (size_t i = 0; i < broker->address_count; i++)
		json_object_array_add(addresses, json_object_new_string(format_address(
							 broker->addresses[i], text)));
	bm_json_add(json, "addresses", addresses);
	bm_json_add_string(json, "definition", broker->definition);
	bm_json_add_string(json, "credential", broker->credential);
	for (size_t i = 0; i < broker->variable_count; i++)
		bm_json_add_string(env, broker->variables[i].name, broker->variables[i].value);
	bm_json_add(json, "env", env);
	bm_json_add(json, "limits", bm_broker_limits_to_json(&broker->limits));
	broker_count_to_json(json, broker);
}

static bool take_string(struct json_object *json, const char *key, char *to, size_t size)
{
	const char *value = bm_json_string(json, key);

	return value && (size_t)snprintf(to, size, "%s", value) < size;
}

static bool take_addresses(struct json_object *json, struct grant_broker *broker)
{
	struct json_object *list = bm_json_get(json, "addresses", json_type_array);
	size_t count = list ? json_object_array_length(list) : 0;

	if (!count || count > BROKER_ADDRESSES)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (!json_object_is_type(item, json_type_string) ||
		    !parse_address(json_object_get_string(item), broker->addresses[i]))
			return false;
	}
	broker->address_count = count;
	return true;
}

static bool take_variables(struct json_object *json, struct grant_broker *broker)
{
	struct json_object *env = bm_json_get(json, "env", json_type_object);
	size_t count = env ? (size_t)json_object_object_length(env) : 0;

	if (!env || count > BM_BROKER_VARIABLES)
		return false;
	broker->variables = calloc(count + 1, sizeof(*broker->variables));
	if (!broker->variables)
		return false;
	json_object_object_foreach(env, key, value) {
		struct bm_broker_variable *v = &broker->variables[broker->variable_count++];

		if (strlen(key) >= sizeof(v->name) ||
		    !take_string(env, key, v->value, sizeof(v->value)))
			return false;
		(void)value;
		snprintf(v->name, sizeof(v->name), "%s", key);
	}
	return true;
}

static bool take_count(struct json_object *json, struct grant_broker *broker)
{
	struct json_object *calls = bm_json_get(json, "calls", json_type_object);
	int64_t count, refused, in, out, lost_calls = 0, lost_bytes = 0;

	if (!calls || bm_json_int(calls, "count", &count) < 0 ||
	    bm_json_int(calls, "refused", &refused) < 0 ||
	    bm_json_int(calls, "bytes_in", &in) < 0 || bm_json_int(calls, "bytes_out", &out) < 0 ||
	    count < 0 || refused < 0 || in < 0 || out < 0)
		return false;
	bm_json_int(calls, "lost_calls", &lost_calls);
	bm_json_int(calls, "lost_bytes", &lost_bytes);
	if (lost_calls < 0 || lost_bytes < 0)
		return false;
	broker->count = (struct broker_count){
		(uint64_t)count, (uint64_t)refused,    (uint64_t)in,
		(uint64_t)out,   (uint64_t)lost_calls, (uint64_t)lost_bytes,
	};
	broker->said = broker->count;
	broker->uncounted = bm_json_bool(calls, "uncounted");
	return true;
}

static bool take_limits(struct json_object *json, struct grant_broker *broker)
{
	struct json_object *limits = bm_json_get(json, "limits", json_type_object);

	return limits && bm_broker_limits_parse(limits, "limits", &broker->limits, NULL) == 0;
}

int broker_from_json(struct json_object *json, struct grant_broker **ret,
		     struct bm_destination *ret_endpoint)
{
	BM_CLEANUP(grant_broker_freep) struct grant_broker *broker = calloc(1, sizeof(*broker));
	const char *text = bm_json_string(json, "endpoint");
	struct bm_destination endpoint;

	if (!broker)
		return -ENOMEM;
	if (!text || bm_destination_parse(text, &endpoint, NULL) < 0 ||
	    !bm_endpoint_is(&endpoint) ||
	    !take_string(json, "broker", broker->name, sizeof(broker->name)) ||
	    !take_string(json, "upstream", broker->upstream, sizeof(broker->upstream)) ||
	    !take_string(json, "definition", broker->definition, sizeof(broker->definition)) ||
	    !take_string(json, "credential", broker->credential, sizeof(broker->credential)) ||
	    !take_addresses(json, broker) || !take_variables(json, broker) ||
	    !take_count(json, broker) || !take_limits(json, broker))
		return -EBADMSG;
	broker->setting = bm_json_bool(json, "setting");
	*ret = TAKE_PTR(broker);
	*ret_endpoint = endpoint;
	return 0;
}

int broker_replay(struct grant *g, struct json_object *line)
{
	const char *what = bm_json_string(line, "what");

	if (g->kind != GRANT_BROKER)
		return -EBADMSG;
	g->broker->stopped = what && !strcmp(what, "stopped");
	return !json_object_object_get_ex(line, "calls", NULL) || take_count(line, g->broker)
		       ? 0
		       : -EBADMSG;
}
