/* SPDX-License-Identifier: GPL-2.0-only */
/* The few things that benchmon asks of json-c, with its answers made strict. */
#ifndef BENCHMON_JSON_H
#define BENCHMON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "base/error.h"

static inline void bm_json_putp(struct json_object **json)
{
	json_object_put(*json);
}

#define autojson __attribute__((cleanup(bm_json_putp))) struct json_object

/*
 * Parses exactly one JSON object of len bytes: strict grammar, valid UTF-8, no NUL, depth at
 * most 16, no duplicate keys. what names the input in the error. The caller owns *ret.
 */
int bm_json_parse(const char *text, size_t len, const char *what, struct json_object **ret,
		  struct bm_error *err);

/* NULL unless key is there and a string. Owned by json. */
const char *bm_json_string(struct json_object *json, const char *key);
/* -ENOENT unless key is there and an integer. */
int bm_json_int(struct json_object *json, const char *key, int64_t *ret);
/* False also when key is absent or no boolean. */
bool bm_json_bool(struct json_object *json, const char *key);
/* NULL unless key is there and of that type. Owned by json. */
struct json_object *bm_json_get(struct json_object *json, const char *key, enum json_type type);

/*
 * Refuses keys of json that are not in known (NULL-terminated); what names the object in the
 * error.
 */
int bm_json_only(struct json_object *json, const char *const *known, const char *what,
		 struct bm_error *err);

void bm_json_add_string(struct json_object *json, const char *key, const char *value);
void bm_json_add_int(struct json_object *json, const char *key, int64_t value);
void bm_json_add_bool(struct json_object *json, const char *key, bool value);
/* Takes over value. */
void bm_json_add(struct json_object *json, const char *key, struct json_object *value);

#endif
