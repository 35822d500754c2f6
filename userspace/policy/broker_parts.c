// SPDX-License-Identifier: GPL-2.0-only
/* The lists of a broker's definition: calls, headers, variables; limits and the harmless call. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/broker_internal.h"

static int only(const struct broker_place *at, struct json_object *json, const char *const *keys)
{
	struct bm_error inner = {};

	if (!json_object_is_type(json, json_type_object))
		return bm_broker_wrong(at, NULL, "not an object");
	if (bm_json_only(json, keys, "it", &inner) < 0)
		return bm_broker_wrong(at, NULL, "%s", inner.message);
	return 0;
}

static int take_list(const struct broker_place *at, struct json_object *json, bool must, size_t max,
		     struct json_object **ret, size_t *ret_count)
{
	int r = bm_broker_look_up(at, json, json_type_array, must, ret);

	*ret_count = r > 0 ? json_object_array_length(*ret) : 0;
	if (r < 0)
		return r;
	if (*ret_count > max)
		return bm_broker_wrong(at, NULL, "more than %zu entries", max);
	if (must && !*ret_count)
		return bm_broker_wrong(at, NULL, "empty");
	return r;
}

static int take_method(struct broker_place *at, struct json_object *json,
		       struct bm_broker_route *route)
{
	static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE" };
	struct json_object *value;
	int r;

	at->key = "method";
	r = bm_broker_look_up(at, json, json_type_string, true, &value);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(json_object_get_string(value), methods[i])) {
			snprintf(route->method, sizeof(route->method), "%s", methods[i]);
			return 0;
		}
	return bm_broker_wrong(at, "GET, HEAD, POST, PUT, PATCH and DELETE are",
			       "no method that is passed on");
}

static int take_path(struct broker_place *at, struct json_object *json, bool pattern,
		     struct bm_broker_route *route)
{
	struct json_object *value;
	const char *why;
	int r;

	at->key = "path";
	r = bm_broker_look_up(at, json, json_type_string, true, &value);
	if (r > 0)
		r = bm_broker_word(at, value, BROKER_VISIBLE, route->path, sizeof(route->path));
	if (r < 0)
		return r;
	why = bm_broker_path_wrong(route->path, strlen(route->path), pattern);
	if (!why && strstr(route->path, "**"))
		why = "two '*' beside each other";
	return why ? bm_broker_wrong(at, NULL, "%s", why) : 0;
}

/* NAME or NAME=VALUE: of the bytes that stand for themselves in a query. */
static bool query_good(const char *text)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   "-._~$[]";
	size_t len = strspn(text, good);

	if (!len || !text[len])
		return len;
	return text[len] == '=' && text[len + 1] && !text[len + 1 + strspn(text + len + 1, good)];
}

static int take_query(struct broker_place *at, struct json_object *json,
		      struct bm_broker_route *route)
{
	struct json_object *list;
	size_t count;
	int r;

	at->key = "query";
	r = take_list(at, json, false, BM_BROKER_QUERY, &list, &count);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		r = bm_broker_word(at, json_object_array_get_idx(list, i), BROKER_VISIBLE,
				   route->query[i], BM_BROKER_WORD);
		if (r == 0 && !query_good(route->query[i]))
			r = bm_broker_wrong(at, "write NAME or NAME=VALUE",
					    "\"%s\" is no parameter", route->query[i]);
		route->query_count = i + 1;
	}
	return r < 0 ? r : 0;
}

int bm_broker_take_routes(struct broker_place at, struct json_object *json,
			  struct bm_broker *broker)
{
	static const char *const keys[] = { "method", "path", "query", NULL };
	struct json_object *list;
	size_t count;
	int r;

	at.key = at.list = "allow";
	r = take_list(&at, json, true, BM_BROKER_ROUTES, &list, &count);
	if (r < 0)
		return r;
	broker->routes = calloc(count, sizeof(*broker->routes));
	if (!broker->routes)
		return bm_fail_errno(at.err, ENOMEM, "%.128s", at.what);
	r = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		at.entry = i + 1;
		at.key = NULL;
		r = only(&at, entry, keys);
		if (r == 0)
			r = take_method(&at, entry, &broker->routes[i]);
		if (r == 0)
			r = take_path(&at, entry, true, &broker->routes[i]);
		if (r == 0)
			r = take_query(&at, entry, &broker->routes[i]);
		broker->route_count = i + 1;
	}
	return r;
}

int bm_broker_take_headers(struct broker_place at, struct json_object *json,
			   struct bm_broker *broker)
{
	struct json_object *list;
	size_t count, len;
	int r;

	at.key = at.list = "headers";
	r = take_list(&at, json, false, BM_BROKER_HEADERS, &list, &count);
	if (r < 0)
		return r;
	broker->headers = calloc(count + 1, sizeof(*broker->headers));
	if (!broker->headers)
		return bm_fail_errno(at.err, ENOMEM, "%.128s", at.what);
	for (size_t i = 0; i < count; i++) {
		char *name = broker->headers[i];

		at.entry = i + 1;
		at.key = NULL;
		r = bm_broker_word(&at, json_object_array_get_idx(list, i), BROKER_TOKEN, name,
				   BM_BROKER_WORD);
		if (r < 0)
			return r;
		len = strlen(name);
		if (bm_broker_header_never(name) || !strcasecmp(name, broker->header))
			return bm_broker_wrong(&at, "leave it out", "%s is never passed on", name);
		if (strcspn(name, "*") < (name[len - 1] == '*' && len > 2 ? len - 1 : len))
			return bm_broker_wrong(&at, "write PREFIX-*", "a '*' that is not the end");
		broker->header_count = i + 1;
	}
	return 0;
}

int bm_broker_take_variables(struct broker_place at, struct json_object *json,
			     struct bm_broker *broker)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
				   "abcdefghijklmnopqrstuvwxyz";
	struct json_object *object;
	int r;

	at.key = "environment";
	r = bm_broker_look_up(&at, json, json_type_object, false, &object);
	if (r <= 0)
		return r;
	if (json_object_object_length(object) > BM_BROKER_VARIABLES)
		return bm_broker_wrong(&at, NULL, "more than %d variables", BM_BROKER_VARIABLES);
	broker->variables = calloc(BM_BROKER_VARIABLES, sizeof(*broker->variables));
	if (!broker->variables)
		return bm_fail_errno(at.err, ENOMEM, "%.128s", at.what);
	json_object_object_foreach(object, name, value) {
		struct bm_broker_variable *v = &broker->variables[broker->variable_count];
		size_t len = strlen(name);

		if (!len || len >= sizeof(v->name) || name[strspn(name, good)] ||
		    (name[0] >= '0' && name[0] <= '9'))
			return bm_broker_wrong(&at, NULL, "no name of a variable");
		/* What a shell or the loader of programs would take for its own. */
		if (!strcmp(name, "PATH") || !strncmp(name, "LD_", 3) || !strcmp(name, "IFS"))
			return bm_broker_wrong(&at, "leave it out", "%s is not a broker's to set",
					       name);
		memcpy(v->name, name, len + 1);
		r = bm_broker_word(&at, value, BROKER_TEXT, v->value, sizeof(v->value));
		if (r < 0)
			return r;
		broker->variable_count++;
	}
	return 0;
}

int bm_broker_limits_parse(struct json_object *json, const char *what,
			   struct bm_broker_limits *limits, struct bm_error *err)
{
	static const char *const keys[] = { "requests",   "bytes",   "rate",
					    "concurrent", "seconds", NULL };
	static const int64_t most[] = { 1ll << 40, 1ll << 50, 60000, 64, 86400 };
	struct broker_place at = { .what = what, .list = "limits", .err = err };
	int64_t values[] = { (int64_t)limits->requests, (int64_t)limits->bytes, limits->rate,
			     limits->concurrent, limits->seconds };
	struct json_object *value;
	int r = only(&at, json, keys);

	for (size_t i = 0; r >= 0 && keys[i]; i++) {
		at.key = keys[i];
		r = bm_broker_look_up(&at, json, json_type_int, false, &value);
		if (r <= 0)
			continue;
		values[i] = json_object_get_int64(value);
		if (values[i] < 1 || values[i] > most[i])
			return bm_broker_wrong(&at, NULL, "not in 1 to %lld", (long long)most[i]);
	}
	if (r < 0)
		return r;
	*limits = (struct bm_broker_limits){ (uint64_t)values[0], (uint64_t)values[1],
					     (uint32_t)values[2], (uint32_t)values[3],
					     (uint32_t)values[4] };
	return 0;
}

struct json_object *bm_broker_limits_to_json(const struct bm_broker_limits *limits)
{
	const struct {
		const char *key;
		uint64_t value;
	} all[] = {
		{ "requests", limits->requests }, { "bytes", limits->bytes },
		{ "rate", limits->rate },         { "concurrent", limits->concurrent },
		{ "seconds", limits->seconds },
	};
	struct json_object *json = json_object_new_object();

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value)
			bm_json_add_int(json, all[i].key, (int64_t)all[i].value);
	return json;
}

/* Where 0 is no limit. */
static uint64_t narrower(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

void bm_broker_limits_narrow(struct bm_broker_limits *limits, const struct bm_broker_limits *by)
{
	limits->requests = narrower(limits->requests, by->requests);
	limits->bytes = narrower(limits->bytes, by->bytes);
	limits->rate = (uint32_t)narrower(limits->rate, by->rate);
	limits->concurrent = (uint32_t)narrower(limits->concurrent, by->concurrent);
	limits->seconds = (uint32_t)narrower(limits->seconds, by->seconds);
}

int bm_broker_take_verify(struct broker_place at, struct json_object *json,
			  struct bm_broker *broker)
{
	static const char *const keys[] = { "method", "path", "query", "status", NULL };
	struct json_object *verify, *value;
	int64_t status = 200;
	int r;

	at.key = "verify";
	r = bm_broker_look_up(&at, json, json_type_object, true, &verify);
	if (r < 0)
		return r;
	at.list = "verify";
	r = only(&at, verify, keys);
	if (r == 0)
		r = take_method(&at, verify, &broker->verify);
	if (r == 0 && strcmp(broker->verify.method, "GET") && strcmp(broker->verify.method, "HEAD"))
		r = bm_broker_wrong(&at, "GET or HEAD", "a call that may change something");
	if (r == 0)
		r = take_path(&at, verify, false, &broker->verify);
	if (r == 0)
		r = take_query(&at, verify, &broker->verify);
	at.key = "status";
	if (r == 0)
		r = bm_broker_look_up(&at, verify, json_type_int, false, &value);
	if (r < 0)
		return r;
	if (r)
		status = json_object_get_int64(value);
	if (status < 200 || status > 499)
		return bm_broker_wrong(&at, NULL, "not in 200 to 499");
	broker->verify_status = (uint16_t)status;
	return 0;
}
