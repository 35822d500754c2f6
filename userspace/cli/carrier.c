// SPDX-License-Identifier: GPL-2.0-only
/* What may carry a secret from one Bench to another. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"

static struct json_object *items_of(struct json_object *reply)
{
	return bm_json_get(reply, "items", json_type_array);
}

static int print_table(struct json_object *items, struct bm_error *err)
{
	static const char *const titles[] = { "CARRIER", "OF", "SOURCE" };
	struct cli_table table = { titles, 3, 1u << 0, NULL, 0, NULL };
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_object_array_length(items); i++) {
		struct json_object *one = json_object_array_get_idx(items, i);
		char number[CLI_SHORT], of[CLI_SHORT], source[CLI_SHOWN];
		const char *cells[] = {
			cli_show_key(one, "carrier", number, sizeof(number)),
			cli_show_key(one, "of", of, sizeof(of)),
			cli_show_key(one, "source", source, sizeof(source)),
		};

		r = cli_table_row(&table, cells);
	}
	if (r == 0)
		cli_table_print(&table, stdout);
	cli_table_done(&table);
	return r < 0 ? bm_fail_errno(err, -r, "carrier ls") : 0;
}

static int list(struct cli *cli, struct bm_error *err)
{
	autojson *reply = NULL;
	struct json_object *items;
	int r = cli_call_list(cli, "carriers", items_of, &reply, &items, err);

	if (r < 0 || !items)
		return r;
	if (cli->format == FORMAT_JSON) {
		json_object_object_del(reply, "ok");
		json_object_object_del(reply, "next");
		cli_print_json(stdout, reply);
	} else if (json_object_array_length(items)) {
		return print_table(items, err);
	} else {
		printf("nothing may carry a secret\n");
	}
	return 0;
}

static int clear(struct cli *cli, const char *typed, struct bm_error *err)
{
	autojson *request = json_object_new_object(), *reply = NULL;
	char source[CLI_SHOWN], *end;
	unsigned long number = strtoul(typed, &end, 10);
	struct json_object *cleared;
	autoclose socket = -1;
	int r;

	if (*typed < '1' || *typed > '9' || *end)
		return cli_usage(cli, err,
				 "carrier: clear takes a number of `benchmon carrier ls`");
	bm_json_add_int(request, "carrier", (int64_t)number);
	r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_call(socket, "carrier-clear", request, NULL, 0, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "cleared", &cleared, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, cleared);
	else
		printf("carrier %lu cleared: %s\n", number,
		       cli_show_key(cleared, "source", source, sizeof(source)));
	return 0;
}

int cmd_carrier(struct cli *cli, struct bm_error *err)
{
	const struct cli_args *args = &cli->args;

	if (!strcmp(args->operands[0], "ls") && args->operand_count == 1)
		return list(cli, err);
	if (!strcmp(args->operands[0], "clear") && args->operand_count == 2)
		return clear(cli, args->operands[1], err);
	return cli_usage(cli, err, "carrier: give ls or clear NUMBER");
}
