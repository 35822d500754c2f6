// SPDX-License-Identifier: GPL-2.0-only
/* Excepted names as JSON: of a request, of a ledger line. */
#include <errno.h>
#include <string.h>

#include "gatekeeperd/model.h"

struct json_object *excepts_to_json(const struct except *list, size_t count, bool objects)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_new_object(), *ids;

		bm_json_add_string(item, "name", list[i].name);
		bm_json_add_string(item, "rights", list[i].readable ? "ro" : "none");
		if (objects) {
			ids = json_object_new_array();
			for (unsigned at = 0; at < list[i].depth; at++)
				json_object_array_add(
					ids, json_object_new_int64((int64_t)list[i].object[at]));
			bm_json_add(item, "objects", ids);
		}
		json_object_array_add(array, item);
	}
	return array;
}

/* The number of components; 0 where it is no name of something below a directory. */
static unsigned depth_of(const char *name)
{
	unsigned depth = 0;

	for (const char *p = name; p; depth++) {
		size_t len = strcspn(p, "/");

		if (!len || len > BM_EXCEPT_NAME_MAX || (len <= 2 && !strncmp(p, "..", len)) ||
		    depth == EXCEPT_DEPTH)
			return 0;
		p = p[len] ? p + len + 1 : NULL;
	}
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return 0;
	return depth;
}

static bool take_objects(struct json_object *item, struct except *ret)
{
	struct json_object *ids = bm_json_get(item, "objects", json_type_array);

	if (!ids || json_object_array_length(ids) != ret->depth)
		return false;
	for (unsigned at = 0; at < ret->depth; at++) {
		struct json_object *id = json_object_array_get_idx(ids, at);

		if (!json_object_is_type(id, json_type_int))
			return false;
		ret->object[at] = (uint64_t)json_object_get_int64(id);
	}
	return true;
}

static bool take_item(struct json_object *item, bool objects, struct except *ret)
{
	static const char *const typed[] = { "name", "rights", NULL }, *const kept[] = {
		"name", "rights", "objects", NULL
	};
	const char *name, *rights;

	if (!json_object_is_type(item, json_type_object) ||
	    bm_json_only(item, objects ? kept : typed, "except", NULL) < 0)
		return false;
	name = bm_json_string(item, "name");
	rights = bm_json_string(item, "rights");
	if (!name || strlen(name) >= sizeof(ret->name) || !rights ||
	    (strcmp(rights, "ro") && strcmp(rights, "none")))
		return false;
	*ret = (struct except){ .depth = depth_of(name), .readable = !strcmp(rights, "ro") };
	memcpy(ret->name, name, strlen(name));
	return ret->depth && (!objects || take_objects(item, ret));
}

int excepts_from_json(struct json_object *json, bool objects, struct except **ret,
		      size_t *ret_count)
{
	size_t count;
	struct except *list;

	if (!json_object_is_type(json, json_type_array))
		return -EBADMSG;
	count = json_object_array_length(json);
	if (!count || count > EXCEPT_MAX)
		return -EBADMSG;
	list = calloc(count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (take_item(json_object_array_get_idx(json, i), objects, &list[i]))
			continue;
		free(list);
		return -EBADMSG;
	}
	*ret = list;
	*ret_count = count;
	return 0;
}
