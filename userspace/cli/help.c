// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "base/escape.h"
#include "cli/cli.h"
#include "cli/text.h"

#define DOC_COLUMN 24

static void print_option(const struct cli_option *o)
{
	int at = printf(o->key ? "  -%c, " : "      ", o->key);

	at += printf("--%s%s%s", o->name, o->arg ? " " : "", o->arg ?: "");
	if (at + 2 > DOC_COLUMN) {
		putchar('\n');
		at = 0;
	}
	printf("%*s", DOC_COLUMN - at, "");
	cli_wrap(stdout, DOC_COLUMN, o->doc);
}

static void print_forms(const struct cli_command *command)
{
	for (int i = 0; i < CLI_FORMS && command->forms[i].args; i++) {
		const struct cli_form *form = &command->forms[i];

		printf("%s benchmon %s%s%s%s%s%s\n", i ? "      " : "usage:", command->name,
		       *form->args ? " " : "", form->args, form->options ? " [OPTION...]" : "",
		       form->tail ? " " : "", form->tail ?: "");
	}
}

static void print_command(const struct cli_command *command)
{
	print_forms(command);
	printf("\n%s: ", command->name);
	cli_wrap(stdout, 2, command->doc);
	printf("\noptions:\n");
	for (int opt = 0; opt < OPT_MAX; opt++)
		if ((command->options | OPT_COMMON) & 1ull << opt)
			print_option(&cli_options[opt]);
	printf("\nman benchmon explains it all.\n");
}

static void print_all(void)
{
	printf("usage: benchmon [COMMAND] [OPTION...]\n\n");
	cli_wrap(stdout, 0,
		 "Runs untrusted work in a Bench, a disposable container that has nothing but what "
		 "is granted to it, one thing at a time. Without a command: the list of Benches.");
	for (int section = 0; section < SECTION_HIDDEN; section++) {
		printf("\n%s%s%s\n", cli_colour(stdout, COLOUR_BOLD), cli_sections[section],
		       cli_colour_end(stdout));
		for (const struct cli_command *c = cli_commands; c->name; c++) {
			if ((int)c->section != section)
				continue;
			printf("  %-12s", c->name);
			cli_wrap(stdout, 14, c->doc);
		}
	}
	printf("\nexample: benchmon run --rootfs /srv/debian --in . -- make check\n"
	       "`benchmon help COMMAND` has the options.\n");
}

static struct json_object *command_json(const struct cli_command *command)
{
	struct json_object *json = json_object_new_object(), *options = json_object_new_array();
	struct json_object *forms = json_object_new_array();

	bm_json_add_string(json, "name", command->name);
	bm_json_add_string(json, "doc", command->doc);
	for (int i = 0; i < CLI_FORMS && command->forms[i].args; i++)
		json_object_array_add(forms, json_object_new_string(command->forms[i].args));
	bm_json_add(json, "forms", forms);
	for (int opt = 0; opt < OPT_MAX; opt++)
		if ((command->options | OPT_COMMON) & 1ull << opt)
			json_object_array_add(options,
					      json_object_new_string(cli_options[opt].name));
	bm_json_add(json, "options", options);
	return json;
}

static void print_json(const struct cli_command *only)
{
	autojson *json = json_object_new_object();
	struct json_object *commands = json_object_new_array();

	for (const struct cli_command *c = cli_commands; c->name; c++)
		if (only ? c == only : c->section != SECTION_HIDDEN)
			json_object_array_add(commands, command_json(c));
	bm_json_add(json, "commands", commands);
	cli_print_json(stdout, json);
}

/* Also what --help does, then for the command it stands with. */
int cmd_help(struct cli *cli, struct bm_error *err)
{
	const struct cli_command *command = NULL;
	const char *name = cli->args.operand_count ? cli->args.operands[0] : NULL;
	char shown[64];

	if (cli_has(&cli->args, OPT_HELP))
		command = cli->command;
	else if (name)
		command = cli_command_find(name);
	if (name && !command)
		return cli_usage(cli, err, "there is no command '%s'",
				 bm_escape(name, shown, sizeof(shown)));
	if (cli->format == FORMAT_JSON)
		print_json(command);
	else if (command)
		print_command(command);
	else
		print_all();
	return 0;
}
