// SPDX-License-Identifier: GPL-2.0-only
#include "audit/told.h"

#include <stdlib.h>
#include <string.h>

#include "audit/peek.h"
#include "base/json.h"

/* Where it is, or would be. */
static size_t place(const struct bm_told *told, uint32_t id)
{
	size_t low = 0, high = told->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (told->list[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct bm_told_of *bm_told_find(const struct bm_told *told, uint32_t id)
{
	size_t at = place(told, id);

	return at < told->count && told->list[at].id == id ? &told->list[at] : NULL;
}

struct bm_told_of *bm_told_add(struct bm_told *told, uint32_t id)
{
	struct bm_told_of *of = bm_told_find(told, id), *grown;
	size_t room = told->room ? 2 * told->room : 16, at;

	if (of)
		return of;
	if (told->count == told->room) {
		grown = reallocarray(told->list, room, sizeof(*grown));
		if (!grown)
			return NULL;
		told->list = grown;
		told->room = room;
	}
	at = place(told, id);
	memmove(&told->list[at + 1], &told->list[at], (told->count - at) * sizeof(*told->list));
	told->list[at] = (struct bm_told_of){ .id = id };
	told->count++;
	return &told->list[at];
}

void bm_told_remove(struct bm_told *told, uint32_t id)
{
	struct bm_told_of *of = bm_told_find(told, id);

	if (!of)
		return;
	told->count--;
	memmove(of, of + 1, (size_t)(&told->list[told->count] - of) * sizeof(*of));
}

struct json_object *bm_told_to_json(const struct bm_told *told)
{
	struct json_object *json = json_object_new_object(), *list = json_object_new_array();

	bm_json_add_string(json, "schema", "benchmon/1");
	bm_json_add_string(json, "type", "begin");
	bm_json_add(json, "benches", list);
	for (size_t i = 0; i < told->count; i++) {
		struct json_object *of = json_object_new_object();

		bm_json_add_int(of, "id", told->list[i].id);
		bm_json_add_int(of, "seq", (int64_t)told->list[i].stored);
		json_object_array_add(list, of);
	}
	return json;
}

void bm_told_from_line(struct bm_told *told, const char *line)
{
	autojson *json = NULL;
	struct json_object *list;
	char type[16];

	if (strcmp(bm_peek_string(line, "type", type, sizeof(type)), "begin") ||
	    bm_json_parse(line, strlen(line), "events", &json, NULL) < 0)
		return;
	list = bm_json_get(json, "benches", json_type_array);
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *of = json_object_array_get_idx(list, i);
		struct bm_told_of *known;
		int64_t id, seq;

		if (bm_json_int(of, "id", &id) < 0 || bm_json_int(of, "seq", &seq) < 0 || id < 1 ||
		    id > UINT32_MAX || seq < 0)
			continue;
		known = bm_told_add(told, (uint32_t)id);
		if (known)
			known->stored = (uint64_t)seq;
	}
}

void bm_told_done(struct bm_told *told)
{
	free(told->list);
	*told = (struct bm_told){};
}
