// SPDX-License-Identifier: GPL-2.0-only
/* For `benchmon suggest`: which of what was used looks like a secret, by name and place. */
#include <string.h>

#include "base/cleanup.h"
#include "gatekeeperd/daemon.h"
#include "gatekeeperd/secrets.h"
#include "policy/secrets.h"

int request_suggest(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *paths = bm_json_get(message->json, "paths", json_type_array), *list;
	autosecrets secrets = {};
	int r;

	(void)d, (void)c;
	if (!paths)
		return bm_fail(err, EINVAL, "protocol", NULL, "suggest: \"paths\" is missing");
	r = bm_secrets_load(SECRETS_FILE, 0, &secrets, err);
	if (r < 0)
		return r;
	list = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(paths); i++) {
		struct json_object *path = json_object_array_get_idx(paths, i);
		const char *why =
			json_object_is_type(path, json_type_string)
				? bm_secret_by_path(&secrets, json_object_get_string(path), false)
				: NULL;

		json_object_array_add(list, why ? json_object_new_string(why) : NULL);
	}
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "secrets", list);
	return 0;
}
