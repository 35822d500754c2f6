// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "cli/cli.h"
#include "cli/text.h"

static int ask(struct cli *cli, const char *op, const char *done, struct bm_error *err)
{
	const char *name = cli->args.operands[0];
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *bench;
	autoclose socket = -1;
	int r = cli_bench_name(cli, name, err);

	bm_json_add_string(request, "bench", name);
	if (r == 0)
		r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_call(socket, op, request, NULL, 0, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "bench", &bench, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, bench);
	else
		printf("%s %s\n", name, done);
	return 0;
}

int cmd_freeze(struct cli *cli, struct bm_error *err)
{
	return ask(cli, "freeze", "is frozen; `benchmon thaw` lets it go on", err);
}

int cmd_thaw(struct cli *cli, struct bm_error *err)
{
	return ask(cli, "thaw", "goes on", err);
}
