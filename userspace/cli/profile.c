// SPDX-License-Identifier: GPL-2.0-only
#include "cli/profile.h"

#include <errno.h>
#include <string.h>

#include "base/escape.h"
#include "cli/text.h"

static struct json_object *items_of(struct json_object *reply)
{
	return bm_json_get(reply, "items", json_type_array);
}

static int list(struct cli *cli, const char *name, struct bm_error *err)
{
	autojson *reply = NULL;
	struct json_object *profiles;
	int r = cli_call_list(cli, "profile-ls", items_of, &reply, &profiles, err);

	(void)name;
	if (r < 0 || !profiles)
		return cli->format == FORMAT_NAMES ? 0 : r;
	if (cli_print_list(cli, profiles, "profiles", "name"))
		return 0;
	if (json_object_array_length(profiles))
		return cli_profile_table(profiles, err);
	printf("no profiles; man benchmon says where they are looked for\n");
	return 0;
}

/* The items of a profile by their kind, as people and programs want them. */
static void sort_items(struct json_object *profile, struct json_object *items)
{
	struct json_object *entries = json_object_new_array(), *hosts = json_object_new_array();
	struct json_object *value;

	for (size_t i = 0; items && i < json_object_array_length(items); i++) {
		struct json_object *item = json_object_array_get_idx(items, i);

		if (json_object_object_get_ex(item, "entry", &value))
			json_object_array_add(entries, json_object_get(value));
		else if (json_object_object_get_ex(item, "host", &value))
			json_object_array_add(hosts, json_object_get(value));
	}
	bm_json_add(profile, "entries", entries);
	bm_json_add(profile, "hosts", hosts);
}

static int show(struct cli *cli, const char *name, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *profile;
	autoclose socket = -1;
	int r = cli_connect(&socket, err);

	bm_json_add_string(request, "name", name);
	if (r == 0)
		r = cli_call_paged(socket, "profile-show", request, items_of, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "profile", &profile, err);
	if (r < 0)
		return r;
	sort_items(profile, items_of(reply));
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, profile);
	else
		cli_profile_print(stdout, profile);
	return 0;
}

static void print_verified(struct json_object *profile)
{
	char name[CLI_SHOWN], expires[CLI_SHORT], line[1024], shown[CLI_SHOWN];
	struct json_object *why = bm_json_get(profile, "why", json_type_object);
	struct bm_error err = {};

	cli_show_key(profile, "name", name, sizeof(name));
	if (!why)
		printf("%s: good until %.19sZ\n", name,
		       cli_show_key(profile, "expires", expires, sizeof(expires)));
	else if (bm_error_from_json(why, &err) == 0)
		printf("%s: %s\n", name,
		       cli_show(bm_error_line(&err, line, sizeof(line)), shown, sizeof(shown)));
}

/* What was never sealed is not wrong. */
static int verify_all(struct cli *cli, struct bm_error *err)
{
	autojson *reply = NULL;
	struct json_object *profiles;
	size_t bad = 0, looked = 0;
	int r = cli_call_list(cli, "profile-ls", items_of, &reply, &profiles, err);

	if (r == 0 && !profiles)
		r = bm_fail(err, ESRCH, NULL, "leave --format names away, and one is started",
			    "verify: no gatekeeperd runs");
	if (r < 0)
		return r;
	for (size_t i = 0; i < json_object_array_length(profiles); i++) {
		struct json_object *p = json_object_array_get_idx(profiles, i);
		const char *state = bm_json_string(p, "state") ?: "";

		if (!strcmp(state, "unsealed"))
			continue;
		looked++;
		bad += strcmp(state, "sealed") != 0;
		if (cli->format != FORMAT_JSON)
			print_verified(p);
	}
	if (cli->format == FORMAT_JSON)
		cli_print_list(cli, profiles, "profiles", "name");
	else if (!looked)
		printf("nothing is sealed\n");
	if (bad)
		return bm_fail(err, EKEYREJECTED, "seal", "see `benchmon profile show NAME`",
			       "%zu of %zu profiles can't be granted", bad, looked);
	return 0;
}

static int verify(struct cli *cli, const char *name, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *profile;
	autoclose socket = -1;
	int r;

	if (!name)
		return verify_all(cli, err);
	bm_json_add_string(request, "name", name);
	r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_call(socket, "profile-verify", request, NULL, 0, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "profile", &profile, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, profile);
	else
		print_verified(profile);
	return 0;
}

static const struct {
	const char *verb;
	int (*fn)(struct cli *cli, const char *name, struct bm_error *err);
	unsigned names_min, names_max;
	uint64_t options;
} verbs[] = {
	{ "ls", list, 0, 0, 0 },
	{ "show", show, 1, 1, 0 },
	{ "seal", cli_profile_seal, 1, 1, OPT(IMAGE) | OPT(ROOTFS) | OPT(PRIVATE) | OPT(YES) },
	{ "verify", verify, 0, 1, 0 },
	{ "refresh", cli_profile_refresh, 1, 1, OPT(YES) },
	{ "unseal", cli_profile_unseal, 1, 1, 0 },
};

int cmd_profile(struct cli *cli, struct bm_error *err)
{
	const char *verb = cli->args.operands[0];
	const char *name = cli->args.operand_count > 1 ? cli->args.operands[1] : NULL;
	char shown[CLI_SHORT];
	size_t i = 0;

	while (i < sizeof(verbs) / sizeof(verbs[0]) && strcmp(verbs[i].verb, verb))
		i++;
	if (i == sizeof(verbs) / sizeof(verbs[0]))
		return cli_usage(cli, err,
				 "profile: no '%s', there are ls, show, seal, verify, refresh and "
				 "unseal",
				 bm_escape(verb, shown, sizeof(shown)));
	if (!name && verbs[i].names_min)
		return cli_usage(cli, err, "profile %s: which one?", verb);
	if (name && !verbs[i].names_max)
		return cli_usage(cli, err, "profile %s takes no name", verb);
	if (cli->args.seen & ~verbs[i].options &
	    (OPT(IMAGE) | OPT(ROOTFS) | OPT(PRIVATE) | OPT(YES)))
		return cli_usage(cli, err,
				 "profile %s takes none of --image, --rootfs, --private%s", verb,
				 verbs[i].options ? "" : " and --yes");
	if (cli_has(&cli->args, OPT_IMAGE) && cli_has(&cli->args, OPT_ROOTFS))
		return cli_usage(cli, err, "profile seal: give one of --image and --rootfs");
	if (cli->format == FORMAT_NAMES && verbs[i].fn != list)
		return cli_usage(cli, err, "profile %s: the format names is for ls", verb);
	return verbs[i].fn(cli, name, err);
}
