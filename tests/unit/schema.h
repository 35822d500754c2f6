/* SPDX-License-Identifier: GPL-2.0-only */
/* As much of JSON Schema as our schemas use; a keyword beyond that fails the test. */
#ifndef BENCHMON_TEST_SCHEMA_H
#define BENCHMON_TEST_SCHEMA_H

#include <fcntl.h>
#include <regex.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"

/* For the setup and teardown of a group; who includes this has defined SCHEMA_PATH. */
static struct json_object *loaded_schema;

static inline int load_schema(void **state)
{
	autofree char *text = NULL;
	size_t len;

	(void)state;
	if (bm_read_file(AT_FDCWD, SCHEMA_PATH, 1 << 16, &text, &len) < 0)
		return -1;
	return bm_json_parse(text, len, SCHEMA_PATH, &loaded_schema, NULL);
}

static inline int drop_schema(void **state)
{
	(void)state;
	json_object_put(loaded_schema);
	return 0;
}

static inline bool schema_fits(struct json_object *schema, struct json_object *json,
			       struct json_object *rules);

static inline void schema_keywords(struct json_object *rules)
{
	static const char *const known[] = {
		"$schema",  "title",      "$defs",     "$ref",
		"oneOf",    "type",       "enum",      "const",
		"required", "minimum",    "maximum",   "additionalProperties",
		"pattern",  "properties", "minLength", "maxLength",
		"items",    "minItems",   "maxItems",  NULL,
	};
	struct bm_error err = {};

	if (bm_json_only(rules, known, "schema", &err) < 0)
		fail_msg("%s", err.message);
}

static inline bool schema_type(struct json_object *json, const char *type)
{
	enum json_type is = json_object_get_type(json);

	return !strcmp(type, json_type_to_name(is)) ||
	       (!strcmp(type, "integer") && is == json_type_int);
}

static inline bool schema_pattern(const char *text, const char *pattern)
{
	regex_t regex;
	int r;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	r = regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
	return r == 0;
}

/* n lies between the two, each where it is given. */
static inline bool schema_range(struct json_object *rules, const char *least, const char *most,
				int64_t n)
{
	int64_t bound;

	return (bm_json_int(rules, least, &bound) < 0 || n >= bound) &&
	       (bm_json_int(rules, most, &bound) < 0 || n <= bound);
}

static inline int64_t schema_characters(const char *text)
{
	int64_t count = 0;

	for (; *text; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

static inline bool schema_object(struct json_object *schema, struct json_object *json,
				 struct json_object *rules)
{
	struct json_object *known = bm_json_get(rules, "properties", json_type_object);
	struct json_object *required = bm_json_get(rules, "required", json_type_array), *rule;

	for (size_t i = 0; required && i < json_object_array_length(required); i++) {
		rule = json_object_array_get_idx(required, i);
		if (!json_object_object_get_ex(json, json_object_get_string(rule), NULL))
			return false;
	}
	json_object_object_foreach(json, key, value) {
		if (!json_object_object_get_ex(known, key, &rule)) {
			if (!bm_json_bool(rules, "additionalProperties"))
				return false;
			continue;
		}
		if (!schema_fits(schema, value, rule))
			return false;
	}
	return true;
}

static inline bool schema_array(struct json_object *schema, struct json_object *json,
				struct json_object *rules)
{
	struct json_object *rule = bm_json_get(rules, "items", json_type_object);

	if (!schema_range(rules, "minItems", "maxItems", (int64_t)json_object_array_length(json)))
		return false;
	for (size_t i = 0; rule && i < json_object_array_length(json); i++)
		if (!schema_fits(schema, json_object_array_get_idx(json, i), rule))
			return false;
	return true;
}

static inline bool schema_one_of(struct json_object *schema, struct json_object *json,
				 struct json_object *list)
{
	size_t count = 0;

	for (size_t i = 0; i < json_object_array_length(list); i++)
		count += schema_fits(schema, json, json_object_array_get_idx(list, i));
	return count == 1;
}

static inline bool schema_value(struct json_object *json, struct json_object *rules)
{
	struct json_object *list = bm_json_get(rules, "enum", json_type_array), *value;
	const char *type = bm_json_string(rules, "type"), *pattern;
	bool found = !list;

	if (type && !schema_type(json, type))
		return false;
	if (json_object_object_get_ex(rules, "const", &value) && !json_object_equal(json, value))
		return false;
	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		found |= json_object_equal(json, json_object_array_get_idx(list, i));
	if (!found)
		return false;
	if (json_object_is_type(json, json_type_int))
		return schema_range(rules, "minimum", "maximum", json_object_get_int64(json));
	if (!json_object_is_type(json, json_type_string))
		return true;
	pattern = bm_json_string(rules, "pattern");
	return schema_range(rules, "minLength", "maxLength",
			    schema_characters(json_object_get_string(json))) &&
	       (!pattern || schema_pattern(json_object_get_string(json), pattern));
}

/* rules is a part of schema, which "#/$defs/NAME" refers to. */
static inline bool schema_fits(struct json_object *schema, struct json_object *json,
			       struct json_object *rules)
{
	const char *ref = bm_json_string(rules, "$ref");
	struct json_object *one_of = bm_json_get(rules, "oneOf", json_type_array);

	schema_keywords(rules);
	if (ref) {
		assert_memory_equal(ref, "#/$defs/", 8);
		rules = bm_json_get(bm_json_get(schema, "$defs", json_type_object), ref + 8,
				    json_type_object);
		assert_non_null(rules);
		return schema_fits(schema, json, rules);
	}
	if (one_of)
		return schema_one_of(schema, json, one_of);
	if (!schema_value(json, rules))
		return false;
	if (json_object_is_type(json, json_type_array))
		return schema_array(schema, json, rules);
	return !json_object_is_type(json, json_type_object) ||
	       !bm_json_get(rules, "properties", json_type_object) ||
	       schema_object(schema, json, rules);
}

static inline bool schema_takes(const char *text)
{
	autojson *json = NULL;

	return bm_json_parse(text, strlen(text), "test", &json, NULL) == 0 &&
	       schema_fits(loaded_schema, json, loaded_schema);
}

#endif
