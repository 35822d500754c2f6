// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/text.h"

static struct json_object *benches_of(struct json_object *reply)
{
	return bm_json_get(reply, "benches", json_type_array);
}

/* To who sees their own alone, whose they are is no news. */
static bool others_too(struct json_object *benches)
{
	int64_t owner;

	for (size_t i = 0; i < json_object_array_length(benches); i++)
		if (bm_json_int(json_object_array_get_idx(benches, i), "owner", &owner) == 0 &&
		    owner != geteuid())
			return true;
	return false;
}

#define STATE 1
#define DENIED 4

static enum cli_colour colour_of(size_t column, const char *cell)
{
	if (column == STATE)
		return cli_state_colour(cell);
	return column == DENIED && strcmp(cell, "0") ? COLOUR_RED : COLOUR_NONE;
}

static int print_table(struct json_object *benches, struct bm_error *err)
{
	static const char *const titles[] = { "NAME",   "STATE",   "ORIGIN", "GRANTS",
					      "DENIED", "CREATED", "OWNER" };
	struct cli_table table = {
		titles, others_too(benches) ? 7 : 6, 1u << 3 | 1u << 4, NULL, 0, colour_of
	};
	uint64_t now = (uint64_t)time(NULL);
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_object_array_length(benches); i++) {
		struct json_object *b = json_object_array_get_idx(benches, i);
		char name[CLI_SHORT], state[CLI_SHORT], origin[CLI_SHORT], grants[CLI_SHORT],
			denied[CLI_SHORT], age[CLI_AGE_LEN], owner[CLI_SHORT];
		const char *cells[] = {
			cli_show_key(b, "name", name, sizeof(name)),
			bm_json_bool(b, "learns") ? "LEARNING: not enforced"
						  : cli_show_key(b, "state", state, sizeof(state)),
			cli_show_key(b, "origin", origin, sizeof(origin)),
			cli_show_key(b, "grant_count", grants, sizeof(grants)),
			cli_show_key(b, "denied", denied, sizeof(denied)),
			cli_age(bm_json_string(b, "created"), now, age),
			cli_show_user(b, "owner", owner, sizeof(owner)),
		};

		r = cli_table_row(&table, cells);
	}
	if (r == 0)
		cli_table_print(&table, stdout);
	cli_table_done(&table);
	return r < 0 ? bm_fail_errno(err, -r, "ls") : 0;
}

int cmd_ls(struct cli *cli, struct bm_error *err)
{
	autojson *reply = NULL;
	struct json_object *benches;
	int r = cli_call_list(cli, "ls", benches_of, &reply, &benches, err);

	if (r < 0 || !benches)
		return r;
	if (cli_print_list(cli, benches, "benches", "name"))
		return 0;
	if (json_object_array_length(benches))
		return print_table(benches, err);
	printf("no Benches; `benchmon help` says how to make one\n");
	return 0;
}
