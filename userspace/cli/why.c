// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/cli.h"
#include "cli/stream.h"
#include "cli/text.h"

#define COLUMN 11

static const char *verdict_of(struct json_object *json)
{
	const char *verdict = bm_json_string(json, "verdict") ?: "";

	if (!strcmp(verdict, "allow"))
		return "allowed";
	if (!strcmp(verdict, "deny"))
		return "denied";
	return !strcmp(verdict, "none") ? "nothing" : verdict;
}

static void print_key(struct json_object *why, const char *key, const char *title)
{
	char shown[CLI_SHOWN];

	if (!bm_json_string(why, key))
		return;
	printf("%-9s  ", title);
	cli_wrap(stdout, COLUMN, cli_show_key(why, key, shown, sizeof(shown)));
}

/* A command is to be pasted: never broken. */
static void print_hint(struct json_object *why)
{
	char shown[CLI_SHOWN];

	if (bm_json_string(why, "hint"))
		printf("%-9s  %s\n", "type", cli_show_key(why, "hint", shown, sizeof(shown)));
}

static void print_layer(struct json_object *layer, bool first)
{
	char name[CLI_SHORT], rule[CLI_SHORT], hook[CLI_SHORT], at[CLI_SHOWN];
	bool ruled = bm_json_string(layer, "rule");

	printf("%-9s  %-5s  %-7s", first ? "layers" : "",
	       cli_show_key(layer, "layer", name, sizeof(name)), verdict_of(layer));
	if (ruled)
		printf("  %s", cli_show_key(layer, "rule", rule, sizeof(rule)));
	if (ruled && bm_json_string(layer, "hook"))
		printf(", at %s", cli_show_key(layer, "hook", hook, sizeof(hook)));
	if (bm_json_string(layer, "at"))
		printf("%s %s", ruled ? ", mounted at" : "  mounted at",
		       cli_show_key(layer, "at", at, sizeof(at)));
	putchar('\n');
}

static void print_subject(struct json_object *why)
{
	struct json_object *event = bm_json_get(why, "event", json_type_object);
	char rights[CLI_SHORT], target[CLI_SHOWN];
	bool allowed = !strcmp(verdict_of(why), "allowed");

	printf("%s%-9s%s  ", cli_colour(stdout, allowed ? COLOUR_GREEN : COLOUR_RED),
	       verdict_of(why), cli_colour_end(stdout));
	if (event)
		cli_event_object(event, target, sizeof(target));
	else
		cli_show_key(why, "target", target, sizeof(target));
	if (bm_json_string(why, "rights"))
		printf("%s on ", cli_show_key(why, "rights", rights, sizeof(rights)));
	printf("%s\n", bm_json_string(why, "target") || event ? target : "was denied");
}

static void print_why(struct json_object *why)
{
	struct json_object *layers = bm_json_get(why, "layers", json_type_array);

	print_subject(why);
	print_key(why, "sentence", "because");
	print_key(why, "rule", "rule");
	print_key(why, "layer", "layer");
	print_key(why, "hook", "hook");
	print_key(why, "grant", "grant");
	for (size_t i = 0; layers && i < json_object_array_length(layers); i++)
		print_layer(json_object_array_get_idx(layers, i), i == 0);
	print_key(why, "remedy", "remedy");
	print_hint(why);
}

static int parse(struct cli *cli, struct json_object *request, struct bm_error *err)
{
	const char **operands = cli->args.operands;
	const char *kind = operands[1];
	size_t wanted = !strcmp(kind, "file") ? 4 : !strcmp(kind, "net") ? 3 : 2;

	if (wanted == 2 && strcmp(kind, "last"))
		return cli_usage(cli, err, "why: ask about a file, net, or last");
	if (cli->args.operand_count != wanted)
		return cli_usage(cli, err, "why: %s takes %s", kind,
				 wanted == 4   ? "a path and the right: r, w or x"
				 : wanted == 3 ? "one destination"
					       : "nothing more");
	if (wanted == 4 && strspn(operands[3], "rwx") != strlen(operands[3]))
		return cli_usage(cli, err, "why: the right is r, w or x, or several as rw");
	bm_json_add_string(request, "bench", operands[0]);
	bm_json_add_string(request, "kind", kind);
	if (wanted > 2)
		bm_json_add_string(request, "target", operands[2]);
	if (wanted == 4)
		bm_json_add_string(request, "rights", operands[3]);
	return cli_bench_name(cli, operands[0], err);
}

int cmd_why(struct cli *cli, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *why;
	autoclose socket = -1;
	int r = parse(cli, request, err);

	if (r == 0)
		r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_call(socket, "why", request, NULL, 0, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "why", &why, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, why);
	else
		print_why(why);
	if (!strcmp(verdict_of(why), "allowed") || !strcmp(verdict_of(why), "nothing"))
		return 0;
	return EXIT_REFUSED;
}
