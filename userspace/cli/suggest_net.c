// SPDX-License-Identifier: GPL-2.0-only
/* Destinations by what has been sealed of them: one profile instead of its addresses. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/suggest_cli.h"

static struct json_object *items_of(struct json_object *reply)
{
	return bm_json_get(reply, "items", json_type_array);
}

/* True when one of the host's addresses, with its port, is to. */
static bool host_has(struct json_object *host, const char *to)
{
	struct json_object *list = bm_json_get(host, "addresses", json_type_array);
	const char *protocol = bm_json_string(host, "protocol");
	int64_t port = 0;
	char text[256];

	bm_json_int(host, "port", &port);
	for (size_t i = 0; list && protocol && i < json_object_array_length(list); i++) {
		const char *address = bm_json_string(json_object_array_get_idx(list, i), "address");
		bool v6 = address && strchr(address, ':');

		snprintf(text, sizeof(text), "%s%s%s:%lld/%s", v6 ? "[" : "", address ?: "",
			 v6 ? "]" : "", (long long)port, protocol);
		if (!strcmp(text, to))
			return true;
	}
	return false;
}

/* A profile of many hosts makes a shorter list than one of one, whose name has its port. */
static bool says_more(const char *profile, const char *before)
{
	return !before || (strchr(before, ':') && !strchr(profile, ':'));
}

static void match(struct json_object *nets, struct json_object *items, const char *profile)
{
	for (size_t i = 0; items && i < json_object_array_length(items); i++) {
		struct json_object *host;

		if (!json_object_object_get_ex(json_object_array_get_idx(items, i), "host", &host))
			continue;
		for (size_t n = 0; n < json_object_array_length(nets); n++) {
			struct json_object *net = json_object_array_get_idx(nets, n);
			const char *name = bm_json_string(host, "host");

			if (!says_more(profile, bm_json_string(net, "profile")) ||
			    !host_has(host, bm_json_string(net, "destination")))
				continue;
			json_object_object_del(net, "profile");
			json_object_object_del(net, "host");
			bm_json_add_string(net, "profile", profile);
			if (name && *name)
				bm_json_add_string(net, "host", name);
		}
	}
}

static int look_at(int socket, struct json_object *nets, const char *profile, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	int r;

	bm_json_add_string(request, "name", profile);
	r = cli_call_paged(socket, "profile-show", request, items_of, &reply, err);
	if (r == 0)
		match(nets, items_of(reply), profile);
	return r;
}

int suggest_profiles(int socket, struct suggest *s, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *list;
	int r;

	if (!json_object_array_length(s->nets))
		return 0;
	r = cli_call_paged(socket, "profile-ls", request, items_of, &reply, err);
	list = r == 0 ? items_of(reply) : NULL;
	for (size_t i = 0; list && r == 0 && i < json_object_array_length(list); i++) {
		struct json_object *profile = json_object_array_get_idx(list, i);
		const char *state = bm_json_string(profile, "state"),
			   *name = bm_json_string(profile, "name");

		if (state && name && !strcmp(state, "sealed"))
			r = look_at(socket, s->nets, name, err);
	}
	return r;
}

/* Those of one profile are one grant; the first of them is its evidence. */
struct json_object *suggest_nets(struct suggest *s)
{
	struct json_object *grants = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(s->nets); i++) {
		struct json_object *net = json_object_array_get_idx(s->nets, i), *grant = NULL;
		const char *profile = bm_json_string(net, "profile");
		int64_t count = 0, before = 0;

		bm_json_int(net, "count", &count);
		for (size_t g = 0; profile && !grant && g < json_object_array_length(grants); g++) {
			const char *of;

			grant = json_object_array_get_idx(grants, g);
			of = bm_json_string(grant, "profile");
			if (!of || strcmp(of, profile))
				grant = NULL;
		}
		if (!grant) {
			grant = json_object_new_object();
			bm_json_add_string(grant, "kind", "net");
			bm_json_add_string(grant, profile ? "profile" : "destination",
					   profile ?: bm_json_string(net, "destination"));
			if (!profile && bm_json_bool(net, "private"))
				bm_json_add_bool(grant, "private", true);
			bm_json_add(
				grant, "evidence",
				json_object_get(bm_json_get(net, "evidence", json_type_object)));
			json_object_array_add(grants, grant);
		}
		bm_json_int(grant, "count", &before);
		json_object_object_del(grant, "count");
		bm_json_add_int(grant, "count", before + count);
	}
	return grants;
}
