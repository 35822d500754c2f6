// SPDX-License-Identifier: GPL-2.0-only
#include "policy/profile.h"

#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/names.h"

#define RULE "profile"
#define DAY 86400u
#define SPAN_MAX (90 * DAY)

static const char *const discovers[BM_DISCOVER_MAX] = {
	[BM_DISCOVER_APT] = "apt",
	[BM_DISCOVER_NPM] = "npm",
	[BM_DISCOVER_PIP] = "pip",
};

const char *bm_discover_name(enum bm_discover what)
{
	return discovers[what];
}

int bm_profile_name_check(const char *name, struct bm_error *err)
{
	char shown[64];

	if (bm_bench_name_valid(name))
		return 0;
	return bm_fail(err, EINVAL, RULE, "use 1 to 32 of a-z, 0-9 and '-', a letter first",
		       "\"%s\" is no name of a profile", bm_escape(name, shown, sizeof(shown)));
}

/* Where in the document: errors say it before anything else. */
struct place {
	const char *what;
	size_t entry; /* from 1; 0: the profile itself */
	const char *key;
	struct bm_error *err;
};

/* Passes on what is wrong with the value, with its place before it. */
static int wrong(const struct place *at, const struct bm_error *inner)
{
	char entry[32] = "";

	if (at->entry)
		snprintf(entry, sizeof(entry), "entry %zu: ", at->entry);
	return bm_fail(at->err, inner->code, inner->rule[0] ? inner->rule : RULE, inner->remedy,
		       "%.128s: %s%s%s%.300s", at->what, entry, at->key ?: "", at->key ? ": " : "",
		       inner->message);
}

__attribute__((format(printf, 3, 4))) static int refuse(const struct place *at, const char *remedy,
							const char *fmt, ...)
{
	struct bm_error inner = { .code = EINVAL };
	va_list ap;

	snprintf(inner.remedy, sizeof(inner.remedy), "%s", remedy ?: "");
	va_start(ap, fmt);
	vsnprintf(inner.message, sizeof(inner.message), fmt, ap);
	va_end(ap);
	return wrong(at, &inner);
}

/* 1 when it is there and of that type, 0 when it is not there. */
static int look_up(const struct place *at, struct json_object *json, enum json_type type,
		   struct json_object **ret)
{
	static const char *const names[] = {
		[json_type_boolean] = "true or false", [json_type_double] = "a number",
		[json_type_int] = "an integer",        [json_type_object] = "an object",
		[json_type_array] = "an array",        [json_type_string] = "a string",
	};

	if (!json_object_object_get_ex(json, at->key, ret))
		return 0;
	if (!json_object_is_type(*ret, type))
		return refuse(at, NULL, "not %s", names[type]);
	return 1;
}

static int must(const struct place *at, int found)
{
	return found ? found : refuse(at, NULL, "missing");
}

/* For people: 1 to BM_PROFILE_TEXT characters, none of them a control character. */
static int take_text(const struct place *at, struct json_object *json, char *ret)
{
	struct json_object *value;
	const char *text;
	size_t characters = 0;
	int r = must(at, look_up(at, json, json_type_string, &value));

	if (r < 0)
		return r;
	text = json_object_get_string(value);
	for (size_t i = 0; text[i]; i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return refuse(at, "remove it", "control byte 0x%02x at %zu",
				      (unsigned char)text[i], i + 1);
		characters += (text[i] & 0xc0) != 0x80;
	}
	if (!characters || characters > BM_PROFILE_TEXT)
		return refuse(at, NULL, "%zu characters, not 1 to %d", characters, BM_PROFILE_TEXT);
	snprintf(ret, BM_PROFILE_TEXT_LEN, "%s", text);
	return 0;
}

/* "90m", "12h", "7d" */
static int take_span(const struct place *at, struct json_object *json, uint32_t fallback,
		     uint32_t *ret)
{
	struct json_object *value;
	const char *text;
	uint32_t number = 0, unit;
	int r = look_up(at, json, json_type_string, &value);
	size_t i = 0;

	*ret = fallback;
	if (r <= 0)
		return r;
	text = json_object_get_string(value);
	for (; text[i] >= '0' && text[i] <= '9' && i < 5; i++)
		number = number * 10 + (uint32_t)(text[i] - '0');
	unit = text[i] == 'm' ? 60 : text[i] == 'h' ? 3600 : text[i] == 'd' ? DAY : 0;
	if (!i || text[0] == '0' || i > 4 || !unit || text[i + 1])
		return refuse(at, "write 90m, 12h or 7d", "no span of time");
	if (number > SPAN_MAX / unit)
		return refuse(at, NULL, "longer than 90 days");
	*ret = number * unit;
	return 0;
}

/* bm_destination_parse() with a port of ours: nothing but an address gets that far. */
static int take_address(const struct place *at, const char *text, struct bm_destination *ret)
{
	size_t good = strspn(text, "0123456789abcdefABCDEF:.");
	struct bm_error inner = {};
	char whole[80];

	if (text[good] == '%')
		return refuse(at, "give a global address without it", "a scope at byte %zu",
			      good + 1);
	if (text[good])
		return refuse(at, "give a name as \"host\"",
			      "byte 0x%02x at %zu does not belong in an address",
			      (unsigned char)text[good], good + 1);
	if (good > 45)
		return refuse(at, NULL, "longer than any address");
	snprintf(whole, sizeof(whole), strchr(text, ':') ? "[%s]:1" : "%s:1", text);
	if (bm_destination_parse(whole, ret, &inner) < 0)
		return wrong(at, &inner);
	return 0;
}

static int take_port(const struct place *at, struct json_object *json, uint16_t *ret)
{
	struct json_object *value;
	int r = must(at, look_up(at, json, json_type_int, &value));
	int64_t port;

	if (r < 0)
		return r;
	port = json_object_get_int64(value);
	if (port < 1 || port > 65535)
		return refuse(at, NULL, "%s is not in 1 to 65535", json_object_get_string(value));
	*ret = (uint16_t)port;
	return 0;
}

static int take_protocol(const struct place *at, struct json_object *json, uint8_t *ret)
{
	struct json_object *value;
	int r = must(at, look_up(at, json, json_type_string, &value));
	const char *text;

	if (r < 0)
		return r;
	text = json_object_get_string(value);
	if (strcmp(text, "tcp") && strcmp(text, "udp"))
		return refuse(at, NULL, "neither tcp nor udp");
	*ret = strcmp(text, "udp") ? IPPROTO_TCP : IPPROTO_UDP;
	return 0;
}

static int take_target(struct place at, struct json_object *json, struct bm_profile *profile,
		       struct bm_profile_entry *entry)
{
	struct bm_error inner = {};
	struct json_object *value;
	uint16_t port = 0;
	uint8_t protocol = 0;
	int r;

	at.key = "protocol";
	r = take_protocol(&at, json, &protocol);
	at.key = "port";
	if (r == 0)
		r = take_port(&at, json, &port);
	at.key = entry->kind == BM_ENTRY_HOST ? "host" : "address";
	if (r == 0)
		r = look_up(&at, json, json_type_string, &value);
	if (r < 0)
		return r;
	if (entry->kind == BM_ENTRY_HOST)
		r = bm_hostname_parse(json_object_get_string(value),
				      (size_t)json_object_get_string_len(value), entry->host,
				      &inner);
	else
		r = take_address(&at, json_object_get_string(value), &entry->destination);
	if (inner.code)
		return wrong(&at, &inner);
	if (r < 0)
		return r;
	entry->destination.port = port;
	entry->destination.protocol = protocol;
	if (entry->kind == BM_ENTRY_ADDRESS &&
	    bm_destination_check(&entry->destination,
				 bm_profile_means(profile, entry->destination.address),
				 &inner) < 0) {
		if (strstr(inner.rule, "private"))
			snprintf(inner.remedy, sizeof(inner.remedy),
				 "list it in \"private\" if this very address is meant");
		return wrong(&at, &inner);
	}
	return 0;
}

static int take_discover(struct place at, struct json_object *json, struct bm_profile_entry *entry)
{
	struct json_object *value;
	int r;

	at.key = "discover";
	r = look_up(&at, json, json_type_string, &value);
	if (r < 0)
		return r;
	for (size_t i = 0; i < BM_DISCOVER_MAX; i++) {
		if (strcmp(json_object_get_string(value), discovers[i]))
			continue;
		entry->discover = i;
		return 0;
	}
	return refuse(&at, "apt, npm and pip are known", "nothing that can be discovered");
}

static bool same_entry(const struct bm_profile_entry *a, const struct bm_profile_entry *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == BM_ENTRY_DISCOVER)
		return a->discover == b->discover;
	return !strcmp(a->host, b->host) && bm_destination_equal(&a->destination, &b->destination);
}

static int take_entry(struct place at, struct json_object *json, struct bm_profile *profile)
{
	static const char *const target[] = { "host", "address", "protocol", "port",
					      "why",  "uploads", NULL };
	static const char *const discover[] = { "discover", "why", "uploads", NULL };
	struct bm_profile_entry *entry = &profile->entries[profile->entry_count];
	struct json_object *value;
	struct bm_error inner = {};
	int kinds, r;

	at.entry = profile->entry_count + 1;
	if (!json_object_is_type(json, json_type_object))
		return refuse(&at, NULL, "not an object");
	kinds = json_object_object_get_ex(json, "host", NULL) +
		json_object_object_get_ex(json, "address", NULL) +
		json_object_object_get_ex(json, "discover", NULL);
	if (kinds != 1)
		return refuse(&at, "give one of the three", "%s of host, address and discover",
			      kinds ? "more than one" : "none");
	entry->kind = json_object_object_get_ex(json, "host", NULL)      ? BM_ENTRY_HOST
		      : json_object_object_get_ex(json, "address", NULL) ? BM_ENTRY_ADDRESS
									 : BM_ENTRY_DISCOVER;
	if (bm_json_only(json, entry->kind == BM_ENTRY_DISCOVER ? discover : target, "it", &inner))
		return wrong(&at, &inner);
	r = entry->kind == BM_ENTRY_DISCOVER ? take_discover(at, json, entry)
					     : take_target(at, json, profile, entry);
	at.key = "why";
	if (r == 0)
		r = take_text(&at, json, entry->why);
	at.key = "uploads";
	if (r == 0)
		r = look_up(&at, json, json_type_boolean, &value);
	if (r < 0)
		return r;
	entry->uploads = r && json_object_get_boolean(value);
	at.key = NULL;
	for (size_t i = 0; i < profile->entry_count; i++)
		if (same_entry(entry, &profile->entries[i]))
			return refuse(&at, "remove one", "the same as entry %zu", i + 1);
	profile->entry_count++;
	return 0;
}

static int take_private(struct place at, struct json_object *json, struct bm_profile *profile)
{
	struct json_object *list;
	int r;

	at.key = "private";
	r = look_up(&at, json, json_type_array, &list);
	if (r <= 0)
		return r;
	if (json_object_array_length(list) > BM_PROFILE_PRIVATE)
		return refuse(&at, NULL, "more than %d addresses", BM_PROFILE_PRIVATE);
	profile->private = calloc(json_object_array_length(list) + 1, 16);
	if (!profile->private)
		return bm_fail_errno(at.err, ENOMEM, "%.128s", at.what);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *value = json_object_array_get_idx(list, i);
		struct bm_destination d;
		struct bm_error inner = {};

		if (!json_object_is_type(value, json_type_string))
			return refuse(&at, NULL, "not a string");
		r = take_address(&at, json_object_get_string(value), &d);
		if (r < 0)
			return r;
		/* What is never sealed is not sealed by being listed here. */
		if (bm_destination_check(&d, true, &inner) < 0)
			return wrong(&at, &inner);
		if (bm_destination_check(&d, false, NULL) == 0)
			return refuse(&at, "leave it away", "%s is no private address",
				      json_object_get_string(value));
		memcpy(profile->private[profile->private_count++], d.address, 16);
	}
	return 0;
}

static int take_name(struct place at, struct json_object *json, const char *name,
		     struct bm_profile *profile)
{
	struct bm_error inner = {};
	struct json_object *value;
	const char *text;
	int r;

	at.key = "name";
	r = must(&at, look_up(&at, json, json_type_string, &value));
	if (r < 0)
		return r;
	text = json_object_get_string(value);
	if (bm_profile_name_check(text, &inner) < 0)
		return wrong(&at, &inner);
	if (name && strcmp(name, text))
		return refuse(&at, "name it as its file is called", "\"%s\" in a file called %s",
			      text, name);
	snprintf(profile->name, sizeof(profile->name), "%s", text);
	return 0;
}

static int take_entries(struct place at, struct json_object *json, struct bm_profile *profile)
{
	struct json_object *list;
	size_t count;
	int r;

	at.key = "entries";
	r = must(&at, look_up(&at, json, json_type_array, &list));
	if (r < 0)
		return r;
	count = json_object_array_length(list);
	if (!count || count > BM_PROFILE_ENTRIES)
		return refuse(&at, NULL, "%zu of them, not 1 to %d", count, BM_PROFILE_ENTRIES);
	profile->entries = calloc(count, sizeof(*profile->entries));
	if (!profile->entries)
		return bm_fail_errno(at.err, ENOMEM, "%.128s", at.what);
	at.key = NULL;
	r = 0;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = take_entry(at, json_object_array_get_idx(list, i), profile);
	return r;
}

int bm_profile_parse(const char *text, size_t len, const char *what, const char *name,
		     struct bm_profile *ret, struct bm_error *err)
{
	static const char *const keys[] = { "name",    "description", "max_age", "overlap",
					    "private", "entries",     NULL };
	autoprofile profile = {};
	autojson *json = NULL;
	struct place at = { .what = what, .err = err };
	int r;

	if (len > BM_PROFILE_MAX)
		return bm_fail(err, EFBIG, RULE, "split it", "%s: larger than %d bytes", what,
			       BM_PROFILE_MAX);
	r = bm_json_parse(text, len, what, &json, err);
	if (r == 0)
		r = bm_json_only(json, keys, what, err);
	if (r == 0)
		r = take_name(at, json, name, &profile);
	at.key = "description";
	if (r == 0)
		r = take_text(&at, json, profile.description);
	at.key = "max_age";
	if (r == 0)
		r = take_span(&at, json, BM_PROFILE_MAX_AGE, &profile.max_age);
	at.key = "overlap";
	if (r == 0)
		r = take_span(&at, json, BM_PROFILE_OVERLAP, &profile.overlap);
	at.key = NULL;
	if (r == 0)
		r = take_private(at, json, &profile);
	if (r == 0)
		r = take_entries(at, json, &profile);
	if (r < 0)
		return r;
	crypto_generichash(profile.digest, sizeof(profile.digest), (const unsigned char *)text, len,
			   NULL, 0);
	*ret = profile;
	profile = (struct bm_profile){};
	return 0;
}

void bm_profile_done(struct bm_profile *profile)
{
	free(profile->entries);
	free(profile->private);
	*profile = (struct bm_profile){};
}

bool bm_profile_means(const struct bm_profile *profile, const uint8_t address[16])
{
	for (size_t i = 0; i < profile->private_count; i++)
		if (!memcmp(profile->private[i], address, 16))
			return true;
	return profile->private_too;
}
