// SPDX-License-Identifier: GPL-2.0-only
#include "policy/secrets.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define RULE "secrets-file"
#define WHY_MAX 200

/* Where in the document: errors say it before anything else. */
struct place {
	const char *what, *list;
	size_t entry; /* from 1; 0: the document itself */
	const char *key;
	struct bm_error *err;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct place *at, const char *fmt,
							...)
{
	char entry[48] = "", message[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (at->entry)
		snprintf(entry, sizeof(entry), "%s %zu: ", at->list, at->entry);
	return bm_fail(at->err, EINVAL, RULE,
		       "profiles/secrets.schema.json says what may stand there", "%.128s: %s%s: %s",
		       at->what, entry, at->key, message);
}

/* 1 to max bytes, none of them a control byte. */
static int take_text(const struct place *at, struct json_object *json, size_t max, char *ret)
{
	struct json_object *value;
	const char *text;
	size_t characters = 0;

	if (!json_object_object_get_ex(json, at->key, &value))
		return refuse(at, "missing");
	if (!json_object_is_type(value, json_type_string))
		return refuse(at, "not a string");
	text = json_object_get_string(value);
	for (size_t i = 0; text[i]; i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return refuse(at, "control byte 0x%02x at %zu", (unsigned char)text[i],
				      i + 1);
		characters += (text[i] & 0xc0) != 0x80;
	}
	if (!characters || characters > max)
		return refuse(at, "%zu characters, not 1 to %zu", characters, max);
	if (strlen(text) > 4 * max)
		return refuse(at, "too long");
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

/* One to BM_SECRET_PARTS components. */
static int check_glob(const struct place *at, const char *glob)
{
	unsigned parts = 0;

	for (const char *p = glob; p; parts++) {
		size_t len = strcspn(p, "/");

		if (!len)
			return refuse(at, "an empty component");
		if (len <= 2 && !strncmp(p, "..", len))
			return refuse(at, "a component \".\" or \"..\"");
		if (strspn(p, "*?") == len && !p[len] && !strchr(glob, '/'))
			return refuse(at, "everything would be one");
		p = p[len] ? p + len + 1 : NULL;
	}
	return parts > BM_SECRET_PARTS ? refuse(at, "more than %d components", BM_SECRET_PARTS) : 0;
}

static int take_glob(const struct place *at, struct json_object *json, char *ret)
{
	char text[4 * BM_SECRET_GLOB_LEN];
	int r = take_text(at, json, BM_SECRET_GLOB_LEN - 1, text);

	if (r < 0)
		return r;
	if (strlen(text) >= BM_SECRET_GLOB_LEN)
		return refuse(at, "longer than %d bytes", BM_SECRET_GLOB_LEN - 1);
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

static int take_nots(struct place *at, struct json_object *json, struct bm_secret_pattern *ret)
{
	struct json_object *list;
	size_t count;
	int r = 0;

	at->key = "not";
	if (!json_object_object_get_ex(json, "not", &list))
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return refuse(at, "not an array");
	count = json_object_array_length(list);
	if (!count || count > BM_SECRET_NOTS)
		return refuse(at, "%zu globs, not 1 to %d", count, BM_SECRET_NOTS);
	for (size_t i = 0; r == 0 && i < count; i++) {
		autojson *one = json_object_new_object();

		bm_json_add(one, "not", json_object_get(json_object_array_get_idx(list, i)));
		r = take_glob(at, one, ret->not [i]);
		if (r == 0)
			r = check_glob(at, ret->not [i]);
		ret->not_count++;
	}
	return r;
}

static int take_pattern(struct place *at, struct json_object *json, struct bm_secret_pattern *ret)
{
	static const char *const known[] = { "path", "not", "why", NULL };
	size_t len;
	int r;

	at->key = "path";
	if (!json_object_is_type(json, json_type_object))
		return refuse(at, "the pattern is not an object");
	r = bm_json_only(json, known, "a pattern", at->err);
	if (r == 0)
		r = take_glob(at, json, ret->path);
	if (r < 0)
		return r;
	len = strlen(ret->path);
	ret->below = ret->path[len - 1] == '/';
	if (ret->below)
		ret->path[len - 1] = '\0';
	r = check_glob(at, ret->path);
	if (r == 0)
		r = take_nots(at, json, ret);
	at->key = "why";
	return r < 0 ? r : take_text(at, json, WHY_MAX, ret->why);
}

static int take_mark(struct place *at, struct json_object *json, struct bm_secret_mark *ret)
{
	static const char *const known[] = { "line", "why", NULL };
	int r;

	at->key = "line";
	if (!json_object_is_type(json, json_type_object))
		return refuse(at, "the mark is not an object");
	r = bm_json_only(json, known, "a mark", at->err);
	if (r == 0)
		r = take_glob(at, json, ret->line);
	/* One that every file had would make every file one. */
	if (r == 0 && strcspn(ret->line, "*?[") < 8)
		return refuse(at, "fewer than 8 characters before its first *, ? or [");
	at->key = "why";
	return r < 0 ? r : take_text(at, json, WHY_MAX, ret->why);
}

static int take_list(struct place *at, struct json_object *json, const char *key, size_t most,
		     struct json_object **ret, size_t *ret_count)
{
	at->entry = 0;
	at->key = key;
	if (!json_object_object_get_ex(json, key, ret))
		return refuse(at, "missing");
	if (!json_object_is_type(*ret, json_type_array))
		return refuse(at, "not an array");
	*ret_count = json_object_array_length(*ret);
	return *ret_count > most ? refuse(at, "%zu of them, more than %zu", *ret_count, most) : 0;
}

static int take_patterns(struct place *at, struct json_object *json, struct bm_secrets *ret)
{
	struct json_object *list;
	size_t count = 0;
	int r = take_list(at, json, "patterns", BM_SECRET_PATTERNS, &list, &count);

	if (r == 0 && !count)
		return refuse(at, "there are none");
	ret->patterns = r < 0 ? NULL : calloc(count, sizeof(*ret->patterns));
	if (r == 0 && !ret->patterns)
		return -ENOMEM;
	at->list = "pattern";
	for (size_t i = 0; r == 0 && i < count; i++) {
		at->entry = i + 1;
		r = take_pattern(at, json_object_array_get_idx(list, i), &ret->patterns[i]);
		ret->pattern_count++;
	}
	return r;
}

static int take_marks(struct place *at, struct json_object *json, struct bm_secrets *ret)
{
	struct json_object *list;
	size_t count = 0;
	int r = take_list(at, json, "marks", BM_SECRET_MARKS, &list, &count);

	ret->marks = r < 0 ? NULL : calloc(count + 1, sizeof(*ret->marks));
	if (r == 0 && !ret->marks)
		return -ENOMEM;
	at->list = "mark";
	for (size_t i = 0; r == 0 && i < count; i++) {
		at->entry = i + 1;
		r = take_mark(at, json_object_array_get_idx(list, i), &ret->marks[i]);
		ret->mark_count++;
	}
	return r;
}

int bm_secrets_parse(const char *text, size_t len, const char *what, struct bm_secrets *ret,
		     struct bm_error *err)
{
	static const char *const known[] = { "name", "description", "patterns", "marks", NULL };
	struct place at = { .what = what, .key = "name", .err = err };
	char said[4 * WHY_MAX + 1];
	autosecrets parsed = {};
	autojson *json = NULL;
	int r = bm_json_parse(text, len, what, &json, err);

	if (r == 0)
		r = bm_json_only(json, known, what, err);
	if (r == 0)
		r = take_text(&at, json, WHY_MAX, said);
	if (r == 0 && strcmp(said, "secrets"))
		return refuse(&at, "not \"secrets\"");
	at.key = "description";
	if (r == 0 && json_object_object_get_ex(json, "description", NULL))
		r = take_text(&at, json, WHY_MAX, said);
	if (r == 0)
		r = take_patterns(&at, json, &parsed);
	if (r == 0)
		r = take_marks(&at, json, &parsed);
	if (r == -ENOMEM)
		return bm_fail_errno(err, ENOMEM, "%s", what);
	if (r < 0)
		return r;
	*ret = parsed;
	parsed = (struct bm_secrets){};
	return 0;
}

void bm_secrets_done(struct bm_secrets *secrets)
{
	free(secrets->patterns);
	free(secrets->marks);
	*secrets = (struct bm_secrets){};
}
