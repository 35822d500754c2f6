// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/parse.h"
#include "cli/text.h"

static struct json_object *peers_of(const struct cli_args *args)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < args->given_count; i++)
		if (args->given[i].opt == OPT_FROM)
			json_object_array_add(list, json_object_new_string(args->given[i].value));
	return list;
}

int cli_grant_listen(struct cli *cli, int socket, const char *bench, const char *port, FILE *out,
		     struct json_object **ret_reply, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	const char *protocol = NULL;
	int64_t number = 0;
	int r;

	cli->failure = EXIT_USAGE;
	r = cli_parse_port(port, &number, &protocol, err);
	if (r < 0)
		return r;
	cli->failure = 0;
	r = cli_add_duration(cli, request, err);
	if (r < 0)
		return r;
	bm_json_add_string(request, "bench", bench);
	bm_json_add_string(request, "kind", "listen");
	bm_json_add_int(request, "port", number);
	bm_json_add_string(request, "protocol", protocol);
	if (cli_has(&cli->args, OPT_FROM))
		bm_json_add(request, "from", peers_of(&cli->args));
	return cli_grant_ask(cli, socket, "grant", request, NULL, out, ret_reply, err);
}

const char *cli_show_port(struct json_object *grant, char *buf, size_t size)
{
	char port[CLI_SHORT], protocol[CLI_SHORT];

	snprintf(buf, size, "%s/%s", cli_show_key(grant, "port", port, sizeof(port)),
		 cli_show_key(grant, "protocol", protocol, sizeof(protocol)));
	return buf;
}

void cli_print_peers(FILE *out, struct json_object *grant, const char *before)
{
	struct json_object *from = bm_json_get(grant, "from", json_type_array);
	char shown[CLI_SHOWN];

	for (size_t i = 0; from && i < json_object_array_length(from); i++) {
		const char *peer = json_object_get_string(json_object_array_get_idx(from, i));

		fprintf(out, "%s%s\n", before, cli_show(peer ?: "", shown, sizeof(shown)));
	}
}
