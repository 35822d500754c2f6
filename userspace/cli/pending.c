// SPDX-License-Identifier: GPL-2.0-only
/* pending, confirm, reject: an operator decides. */
#include <errno.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/kinds.h"
#include "cli/profile.h"
#include "cli/source.h"
#include "cli/text.h"

static struct json_object *items_of(struct json_object *reply)
{
	return bm_json_get(reply, "items", json_type_array);
}

int cmd_pending(struct cli *cli, struct bm_error *err)
{
	autojson *reply = NULL;
	struct json_object *items;
	int r = cli_call_list(cli, "pending", items_of, &reply, &items, err);

	if (r < 0 || !items)
		return r;
	if (cli_print_list(cli, items, "requests", "request"))
		return 0;
	if (!json_object_array_length(items))
		printf("nothing awaits a decision\n");
	for (size_t i = 0; i < json_object_array_length(items); i++)
		cli_ask_print_item(stdout, json_object_array_get_idx(items, i));
	return 0;
}

/* Opened here, with the rights of who confirms: nobody else opens anything by its name. */
static int confirm_file(struct cli *cli, int socket, struct json_object *item, const char *path,
			struct json_object *request, FILE *out, struct json_object **ret_reply,
			struct bm_error *err)
{
	const char *rights = bm_json_string(item, "rights");
	autoclose fd = -1;
	int r = cli_source_open(path, rights && !strcmp(rights, "rw"), &fd, err);

	if (r < 0)
		return r;
	bm_json_add_bool(request, "idmap", !cli_has(&cli->args, OPT_NO_IDMAP));
	return cli_grant_ask(cli, socket, "grant", request, &fd, out, ret_reply, err);
}

static int confirm(struct cli *cli, int socket, const char *id, FILE *out,
		   struct json_object **ret_reply, struct bm_error *err)
{
	autojson *asked = json_object_new_object(), *request = json_object_new_object();
	autojson *found = NULL;
	struct json_object *item;
	const char *kind, *target;
	int r;

	bm_json_add_string(asked, "request", id);
	bm_json_add_string(request, "request", id);
	r = cli_call(socket, "pending", asked, NULL, 0, &found, err);
	if (r == 0)
		r = cli_reply_object(found, "request", &item, err);
	if (r < 0)
		return r;
	kind = bm_json_string(item, "kind") ?: "";
	r = cli_check_kind(cli, kind, err);
	if (r == 0)
		r = cli_add_options(cli, kind, request, err);
	if (r < 0)
		return r;
	target = bm_json_string(found, "open");
	/* Who asked may look at it. */
	if (!target)
		return bm_fail(err, EPERM, "operator", "an operator confirms it",
			       "who asks does not confirm");
	if (!strcmp(kind, "bench"))
		return cli_create_asked(cli, socket, id, bm_json_bool(item, "image"), target, out,
					ret_reply, err);
	if (!strcmp(kind, "file"))
		return confirm_file(cli, socket, item, target, request, out, ret_reply, err);
	if (cli_has(&cli->args, OPT_PRIVATE))
		bm_json_add_bool(request, "private", true);
	return cli_grant_ask(cli, socket, "grant", request, NULL, out, ret_reply, err);
}

static void print_made(struct cli *cli, struct json_object *reply, struct json_object *bench)
{
	struct json_object *grant = bm_json_get(reply, "grant", json_type_object);
	char name[CLI_SHORT];

	if (cli->format == FORMAT_JSON) {
		cli_print_json(stdout, grant ?: bench);
	} else if (grant) {
		cli_grant_print(grant);
		cli_profile_refreshed_print(stdout, reply);
	} else {
		printf("%s\n", cli_show_key(bench, "name", name, sizeof(name)));
	}
}

int cmd_confirm(struct cli *cli, struct bm_error *err)
{
	FILE *out = cli->format == FORMAT_JSON ? NULL : stdout;
	struct json_object *bench = NULL;
	autojson *reply = NULL;
	autoclose socket = -1;
	int r;

	if (!cli->args.operand_count)
		return cmd_pending(cli, err);
	r = cli_connect(&socket, err);
	if (r == 0)
		r = confirm(cli, socket, cli->args.operands[0], out, &reply, err);
	if (r == -ECANCELED)
		cli->failure = EXIT_REFUSED;
	if (r == 0 && !bm_json_get(reply, "grant", json_type_object))
		r = cli_reply_object(reply, "bench", &bench, err);
	if (r < 0)
		return r;
	print_made(cli, reply, bench);
	return 0;
}

int cmd_reject(struct cli *cli, struct bm_error *err)
{
	autojson *request = json_object_new_object(), *reply = NULL;
	struct json_object *rejected;
	autoclose socket = -1;
	char id[CLI_SHORT];
	int r = cli_connect(&socket, err);

	bm_json_add_string(request, "request", cli->args.operands[0]);
	if (cli->args.value[OPT_WHY])
		bm_json_add_string(request, "why", cli->args.value[OPT_WHY]);
	if (r == 0)
		r = cli_call(socket, "reject", request, NULL, 0, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "rejected", &rejected, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, rejected);
	else
		printf("%s rejected\n", cli_show_key(rejected, "request", id, sizeof(id)));
	return 0;
}
