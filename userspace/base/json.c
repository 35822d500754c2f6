// SPDX-License-Identifier: GPL-2.0-only
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

#define MAX_DEPTH 16

/* Of what looks like UTF-8 to json-c: too long a form, a surrogate, beyond U+10FFFF. */
static bool utf8_wrong(unsigned char a, unsigned char b)
{
	return a == 0xc0 || a == 0xc1 || a > 0xf4 || (a == 0xe0 && b < 0xa0) ||
	       (a == 0xed && b > 0x9f) || (a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f);
}

/*
 * json-c takes more than JSON even when strict: keys in single quotes, NaN, Infinity, "1.",
 * control characters in strings, some invalid UTF-8. It also ends a key at \u0000.
 *
 * And it keeps the last of two equal keys, so that a checker and a user of the same text could
 * see different values. Compared is what the text holds with what the object kept: every
 * key/value pair puts exactly one ':' outside a string.
 */
static bool strict(const char *text, size_t len, size_t *ret_colons)
{
	bool quoted = false;
	size_t colons = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i], next = i + 1 < len ? text[i + 1] : '\0';

		if (utf8_wrong((unsigned char)c, (unsigned char)next))
			return false;
		if (quoted) {
			if ((unsigned char)c < 0x20 ||
			    (len - i >= 6 && !memcmp(text + i, "\\u0000", 6)))
				return false;
			if (c == '\\')
				i++;
			quoted = c != '"';
			continue;
		}
		if (strchr("'NI", c) || (c == '.' && (next < '0' || next > '9')))
			return false;
		quoted = c == '"';
		colons += c == ':';
	}
	*ret_colons = colons;
	return true;
}

static size_t pairs_in_object(struct json_object *json)
{
	size_t count = 0;

	if (json_object_is_type(json, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(json); i++)
			count += pairs_in_object(json_object_array_get_idx(json, i));
	} else if (json_object_is_type(json, json_type_object)) {
		json_object_object_foreach(json, key, value) {
			(void)key;
			count += 1 + pairs_in_object(value);
		}
	}
	return count;
}

int bm_json_parse(const char *text, size_t len, const char *what, struct json_object **ret,
		  struct bm_error *err)
{
	struct json_tokener *tokener;
	struct json_object *json;
	enum json_tokener_error error;
	size_t end, colons;

	if (len > INT32_MAX)
		return bm_fail(err, EMSGSIZE, "json", NULL, "%s: too large", what);
	if (memchr(text, '\0', len))
		return bm_fail(err, EBADMSG, "json", NULL, "%s: NUL byte in JSON", what);
	tokener = json_tokener_new_ex(MAX_DEPTH);
	if (!tokener)
		return bm_fail_errno(err, ENOMEM, "%s", what);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	json = json_tokener_parse_ex(tokener, text, (int)len);
	error = json_tokener_get_error(tokener);
	end = json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);

	if (error == json_tokener_continue)
		return bm_fail(err, EBADMSG, "json", NULL, "%s: JSON ends too early", what);
	if (error != json_tokener_success)
		return bm_fail(err, EBADMSG, "json", NULL, "%s: JSON: %s at byte %zu", what,
			       json_tokener_error_desc(error), end);
	while (end < len && strchr(" \t\r\n", text[end]))
		end++;
	if (end != len) {
		json_object_put(json);
		return bm_fail(err, EBADMSG, "json", NULL, "%s: more than one JSON value", what);
	}
	if (!json_object_is_type(json, json_type_object)) {
		json_object_put(json);
		return bm_fail(err, EBADMSG, "json", NULL, "%s: not a JSON object", what);
	}
	if (!strict(text, len, &colons)) {
		json_object_put(json);
		return bm_fail(err, EBADMSG, "json", NULL, "%s: not strict JSON", what);
	}
	if (colons != pairs_in_object(json)) {
		json_object_put(json);
		return bm_fail(err, EBADMSG, "json", NULL, "%s: a key is given twice", what);
	}
	*ret = json;
	return 0;
}

struct json_object *bm_json_get(struct json_object *json, const char *key, enum json_type type)
{
	struct json_object *value;

	if (!json_object_object_get_ex(json, key, &value) || !json_object_is_type(value, type))
		return NULL;
	return value;
}

const char *bm_json_string(struct json_object *json, const char *key)
{
	struct json_object *value = bm_json_get(json, key, json_type_string);
	const char *text;

	if (!value)
		return NULL;
	text = json_object_get_string(value);
	/* "\u0000" is legal JSON; a C string would end there and say something else. */
	if (strlen(text) != (size_t)json_object_get_string_len(value))
		return NULL;
	return text;
}

int bm_json_int(struct json_object *json, const char *key, int64_t *ret)
{
	struct json_object *value = bm_json_get(json, key, json_type_int);

	if (!value)
		return -ENOENT;
	*ret = json_object_get_int64(value);
	return 0;
}

bool bm_json_bool(struct json_object *json, const char *key)
{
	struct json_object *value = bm_json_get(json, key, json_type_boolean);

	return value && json_object_get_boolean(value);
}

int bm_json_only(struct json_object *json, const char *const *known, const char *what,
		 struct bm_error *err)
{
	char shown[64];

	json_object_object_foreach(json, key, value) {
		size_t i = 0;

		(void)value;
		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return bm_fail(err, EINVAL, "json", NULL, "%s: unknown key \"%s\"", what,
				       bm_escape(key, shown, sizeof(shown)));
	}
	return 0;
}

void bm_json_add(struct json_object *json, const char *key, struct json_object *value)
{
	json_object_object_add(json, key, value);
}

void bm_json_add_string(struct json_object *json, const char *key, const char *value)
{
	bm_json_add(json, key, json_object_new_string(value));
}

void bm_json_add_int(struct json_object *json, const char *key, int64_t value)
{
	bm_json_add(json, key, json_object_new_int64(value));
}

void bm_json_add_bool(struct json_object *json, const char *key, bool value)
{
	bm_json_add(json, key, json_object_new_boolean(value));
}
