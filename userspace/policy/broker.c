// SPDX-License-Identifier: GPL-2.0-only
#include "policy/broker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/json.h"
#include "policy/broker_internal.h"

#define RULE "broker-definition"

int bm_broker_wrong(const struct broker_place *at, const char *remedy, const char *fmt, ...)
{
	char message[256], entry[32] = "";
	va_list ap;

	if (at->entry)
		snprintf(entry, sizeof(entry), "%s %zu: ", at->list, at->entry);
	else if (at->list && at->list != at->key)
		snprintf(entry, sizeof(entry), "%s: ", at->list);
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return bm_fail(at->err, EINVAL, RULE, remedy, "%.128s: %s%s%s%s", at->what, entry,
		       at->key ?: "", at->key ? ": " : "", message);
}

int bm_broker_look_up(const struct broker_place *at, struct json_object *json, enum json_type type,
		      bool must, struct json_object **ret)
{
	static const char *const names[] = {
		[json_type_int] = "an integer",
		[json_type_object] = "an object",
		[json_type_array] = "an array",
		[json_type_string] = "a string",
	};

	if (!json_object_object_get_ex(json, at->key, ret))
		return must ? bm_broker_wrong(at, NULL, "missing") : 0;
	if (!json_object_is_type(*ret, type))
		return bm_broker_wrong(at, NULL, "not %s", names[type]);
	return 1;
}

static bool is_token(char c)
{
	return c && (strchr("!#$%&'*+-.^_`|~", c) || (c >= '0' && c <= '9') ||
		     (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
}

int bm_broker_word(const struct broker_place *at, struct json_object *value, enum broker_word kind,
		   char *ret, size_t size)
{
	const char *text;
	size_t len;

	if (!json_object_is_type(value, json_type_string))
		return bm_broker_wrong(at, NULL, "not a string");
	text = json_object_get_string(value);
	len = (size_t)json_object_get_string_len(value);
	if (!len || len >= size)
		return bm_broker_wrong(at, NULL, "%zu bytes, not 1 to %zu", len, size - 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		bool good = kind == BROKER_TEXT    ? c >= 0x20 && c <= 0x7e
			    : kind == BROKER_TOKEN ? is_token((char)c)
						   : c >= 0x21 && c <= 0x7e;

		if (!good)
			return bm_broker_wrong(at, NULL, "byte 0x%02x at %zu does not belong there",
					       c, i + 1);
	}
	memcpy(ret, text, len);
	ret[len] = '\0';
	return 0;
}

int bm_broker_name_check(const char *name, struct bm_error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	char shown[64];

	if (name[0] >= 'a' && name[0] <= 'z' && strlen(name) < BM_BROKER_NAME_LEN &&
	    !name[strspn(name, letters)])
		return 0;
	return bm_fail(err, EINVAL, RULE, "use 1 to 32 of a-z, 0-9 and '-', a letter first",
		       "\"%s\" is no name of a broker", bm_escape(name, shown, sizeof(shown)));
}

static int take_name(struct broker_place at, struct json_object *json, const char *name,
		     struct bm_broker *broker)
{
	struct bm_error inner = {};
	struct json_object *value;
	int r;

	at.key = "name";
	r = bm_broker_look_up(&at, json, json_type_string, true, &value);
	if (r > 0)
		r = bm_broker_word(&at, value, BROKER_VISIBLE, broker->name, sizeof(broker->name));
	if (r < 0)
		return r;
	if (bm_broker_name_check(broker->name, &inner) < 0)
		return bm_broker_wrong(&at, inner.remedy, "%s", inner.message);
	if (name && strcmp(name, broker->name))
		return bm_broker_wrong(&at, "name it as its file is called",
				       "\"%s\" in a file called %.32s", broker->name, name);
	return 0;
}

/* Shown at confirmation: as a profile's. */
static int take_description(struct broker_place at, struct json_object *json,
			    struct bm_broker *broker)
{
	struct json_object *value;
	const char *text;
	size_t characters = 0;
	int r;

	at.key = "description";
	r = bm_broker_look_up(&at, json, json_type_string, true, &value);
	if (r < 0)
		return r;
	text = json_object_get_string(value);
	for (size_t i = 0; i < (size_t)json_object_get_string_len(value); i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return bm_broker_wrong(&at, "remove it", "control byte 0x%02x at %zu",
					       (unsigned char)text[i], i + 1);
		characters += (text[i] & 0xc0) != 0x80;
	}
	if (!characters || characters > BM_BROKER_TEXT)
		return bm_broker_wrong(&at, NULL, "%zu characters, not 1 to %d", characters,
				       BM_BROKER_TEXT);
	snprintf(broker->description, sizeof(broker->description), "%s", text);
	return 0;
}

static int take_host(struct broker_place at, const char *text, size_t len, struct bm_broker *broker)
{
	struct bm_error inner = {};

	if (bm_hostname_parse(text, len, broker->host, &inner) < 0)
		return bm_broker_wrong(&at, inner.remedy, "%s", inner.message);
	return 0;
}

static int take_upstream(struct broker_place at, struct json_object *json, struct bm_broker *broker)
{
	static const char *const keys[] = { "host", "port", NULL };
	struct json_object *upstream, *value;
	struct bm_error inner = {};
	int64_t port = 443;
	int r;

	at.key = "upstream";
	if (json_object_object_get_ex(json, at.key, &upstream) &&
	    json_object_is_type(upstream, json_type_string)) {
		if (strcmp(json_object_get_string(upstream), "setting"))
			return bm_broker_wrong(&at, "give {\"host\", \"port\"?} or \"setting\"",
					       "a string other than \"setting\"");
		broker->setting = true;
		return 0;
	}
	r = bm_broker_look_up(&at, json, json_type_object, true, &upstream);
	if (r < 0)
		return r;
	if (bm_json_only(upstream, keys, "it", &inner) < 0)
		return bm_broker_wrong(&at, NULL, "%s", inner.message);
	at.list = "upstream";
	at.key = "host";
	r = bm_broker_look_up(&at, upstream, json_type_string, true, &value);
	if (r > 0)
		r = take_host(at, json_object_get_string(value),
			      (size_t)json_object_get_string_len(value), broker);
	at.key = "port";
	if (r == 0)
		r = bm_broker_look_up(&at, upstream, json_type_int, false, &value);
	if (r < 0)
		return r;
	if (r)
		port = json_object_get_int64(value);
	if (port < 1 || port > 65535)
		return bm_broker_wrong(&at, NULL, "not in 1 to 65535");
	broker->port = (uint16_t)port;
	return 0;
}

int bm_broker_set_upstream(struct bm_broker *broker, const char *upstream, struct bm_error *err)
{
	struct broker_place at = { .what = broker->name, .key = "upstream", .err = err };
	const char *colon = strchr(upstream, ':');
	size_t len = colon ? (size_t)(colon - upstream) : strlen(upstream);
	unsigned long port = 443;
	char *end = NULL;

	if (!broker->setting)
		return bm_broker_wrong(&at, "write a definition of your own",
				       "its definition says which it is");
	if (colon) {
		port = colon[1] >= '1' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
		if (!port || port > 65535 || *end)
			return bm_broker_wrong(&at, "write HOST or HOST:PORT",
					       "the port is not in 1 to 65535");
	}
	broker->port = (uint16_t)port;
	return take_host(at, upstream, len, broker);
}

/* A file by its whole path, that no ".." leads away from. */
static int take_ca(struct broker_place at, struct json_object *json, struct bm_broker *broker)
{
	struct json_object *value;
	int r;

	at.key = "ca";
	r = bm_broker_look_up(&at, json, json_type_string, false, &value);
	if (r > 0)
		r = bm_broker_word(&at, value, BROKER_VISIBLE, broker->ca, sizeof(broker->ca));
	if (r < 0)
		return r;
	if (broker->ca[0] && (broker->ca[0] != '/' || strstr(broker->ca, "/../")))
		return bm_broker_wrong(&at, "give the whole path", "no absolute path");
	return 0;
}

static int take_credential(struct broker_place at, struct json_object *json,
			   struct bm_broker *broker)
{
	static const char *const keys[] = { "header", "before", "user", NULL };
	struct json_object *credential, *value;
	struct bm_error inner = {};
	int r;

	at.key = "credential";
	r = bm_broker_look_up(&at, json, json_type_object, true, &credential);
	if (r < 0)
		return r;
	if (bm_json_only(credential, keys, "it", &inner) < 0)
		return bm_broker_wrong(&at, NULL, "%s", inner.message);
	at.list = "credential";
	at.key = "header";
	r = bm_broker_look_up(&at, credential, json_type_string, true, &value);
	if (r > 0)
		r = bm_broker_word(&at, value, BROKER_TOKEN, broker->header,
				   sizeof(broker->header));
	if (r < 0)
		return r;
	for (char *c = broker->header; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c |= 0x20;
	if (!strcmp(broker->header, "host") || !strcmp(broker->header, "connection") ||
	    !strcmp(broker->header, "content-length") ||
	    !strcmp(broker->header, "transfer-encoding"))
		return bm_broker_wrong(&at, NULL, "%s is the connection's", broker->header);
	at.key = "before";
	r = bm_broker_look_up(&at, credential, json_type_string, false, &value);
	if (r > 0)
		r = bm_broker_word(&at, value, BROKER_TEXT, broker->before, sizeof(broker->before));
	if (r < 0)
		return r;
	at.key = "user";
	r = bm_broker_look_up(&at, credential, json_type_string, false, &value);
	if (r > 0)
		r = bm_broker_word(&at, value, BROKER_VISIBLE, broker->user, sizeof(broker->user));
	if (r < 0)
		return r;
	if (strchr(broker->user, ':'))
		return bm_broker_wrong(&at, NULL, "a user with a ':'");
	if (broker->user[0] && (broker->before[0] || strcmp(broker->header, "authorization")))
		return bm_broker_wrong(&at, "give \"header\": \"authorization\" and \"user\" alone",
				       "HTTP Basic goes elsewhere or with something before it");
	return 0;
}

int bm_broker_from_json(struct json_object *json, const char *what, const char *name,
			struct bm_broker *ret, struct bm_error *err)
{
	static const char *const keys[] = { "name",   "description", "upstream", "ca",
					    "allow",  "credential",  "headers",  "environment",
					    "limits", "verify",      NULL };
	autobroker broker = { .limits = { .rate = 120, .concurrent = 8, .seconds = 900 } };
	struct broker_place at = { .what = what, .err = err };
	struct json_object *limits;
	int r = bm_json_only(json, keys, what, err);

	if (r == 0)
		r = take_name(at, json, name, &broker);
	if (r == 0)
		r = take_description(at, json, &broker);
	if (r == 0)
		r = take_upstream(at, json, &broker);
	if (r == 0)
		r = take_ca(at, json, &broker);
	if (r == 0)
		r = take_credential(at, json, &broker);
	if (r == 0)
		r = bm_broker_take_routes(at, json, &broker);
	if (r == 0)
		r = bm_broker_take_headers(at, json, &broker);
	if (r == 0)
		r = bm_broker_take_variables(at, json, &broker);
	at.key = "limits";
	if (r == 0)
		r = bm_broker_look_up(&at, json, json_type_object, false, &limits);
	if (r > 0)
		r = bm_broker_limits_parse(limits, what, &broker.limits, err);
	if (r == 0)
		r = bm_broker_take_verify(at, json, &broker);
	if (r < 0)
		return r;
	*ret = broker;
	broker = (struct bm_broker){};
	return 0;
}

int bm_broker_parse(const char *text, size_t len, const char *what, const char *name,
		    struct bm_broker *ret, struct bm_error *err)
{
	autojson *json = NULL;
	int r;

	/* With the rest of a first message around it. */
	if (len > BM_BROKER_MAX - 8192)
		return bm_fail(err, EFBIG, RULE, "split it", "%s: larger than %d bytes", what,
			       BM_BROKER_MAX - 8192);
	r = bm_json_parse(text, len, what, &json, err);
	return r < 0 ? r : bm_broker_from_json(json, what, name, ret, err);
}

void bm_broker_done(struct bm_broker *broker)
{
	free(broker->routes);
	free(broker->headers);
	free(broker->variables);
	*broker = (struct bm_broker){};
}
