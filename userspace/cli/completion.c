// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/cli.h"

/* "compgen" words for what an option's value is. */
static const char *value_kind(enum cli_opt opt)
{
	const char *arg = cli_options[opt].arg;

	if (opt == OPT_RIGHTS)
		return "-W 'ro rw'";
	if (opt == OPT_FORMAT)
		return "-W \"$formats\"";
	if (opt == OPT_BENCH)
		return "-W \"$(benchmon ls --format names 2>/dev/null)\"";
	if (opt != OPT_CWD && !strcmp(arg, "DIR"))
		return "-d";
	if (opt == OPT_SOURCE || opt == OPT_CGROUP)
		return "-f";
	if (opt == OPT_BROKER)
		return "-W \"$(benchmon broker ls --format names 2>/dev/null)\"";
	return "-W ''";
}

static void print_values(void)
{
	printf("\tcase \"$prev\" in\n");
	for (int opt = 0; opt < OPT_MAX; opt++) {
		const struct cli_option *o = &cli_options[opt];
		char key[4] = { '|', '-', o->key, '\0' };

		if (o->arg)
			printf("\t--%s%s)\n\t\tCOMPREPLY=($(compgen %s -- \"$cur\"))\n"
			       "\t\treturn ;;\n",
			       o->name, o->key ? key : "", value_kind((enum cli_opt)opt));
	}
	printf("\tesac\n");
}

/* What stands first behind the command, from the first word of its first form. */
static const char *operand_kind(const struct cli_command *command)
{
	const char *args = command->forms[0].args;

	if (!strncmp(args, "BENCH", 5) || !strncmp(args, "GRANT", 5))
		return "$(benchmon ls --format names 2>/dev/null)";
	if (!strncmp(args, "REQUEST", 7) || !strncmp(args, "[REQUEST", 8))
		return "$(benchmon pending --format names 2>/dev/null)";
	if (!strncmp(args, "[NAME|", 6))
		return "$(benchmon receipt --format names 2>/dev/null)";
	return strcmp(args, "[COMMAND]") ? NULL : "$commands";
}

/* Else the words that are typed as they stand: those that the forms begin with. */
static void print_operands(const struct cli_command *command)
{
	const char *kind = operand_kind(command);

	printf("'\n\t\toperands=\"%s", kind ?: "");
	for (int i = 0; !kind && i < CLI_FORMS && command->forms[i].args; i++) {
		const char *args = command->forms[i].args;

		if (*args >= 'a' && *args <= 'z')
			printf("%s%.*s", i ? " " : "", (int)strcspn(args, " "), args);
	}
	printf("\" ;;\n");
}

static void print_formats(const struct cli_command *command)
{
	printf("'\n\t\tformats='text json");
	for (int format = 0; format < FORMAT_MAX; format++)
		if (command->formats & 1u << format && format != FORMAT_NAMES)
			printf(" %s", cli_formats[format]);
}

static void print_cases(void)
{
	printf("\tcase \"${COMP_WORDS[1]}\" in\n");
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		if (c->section == SECTION_HIDDEN)
			continue;
		printf("\t%s)\n\t\toptions='", c->name);
		for (int opt = 0; opt < OPT_MAX; opt++)
			if ((c->options | OPT_COMMON) & 1ull << opt)
				printf(" --%s", cli_options[opt].name);
		print_formats(c);
		print_operands(c);
	}
	printf("\tesac\n");
}

int cmd_completion(struct cli *cli, struct bm_error *err)
{
	if (strcmp(cli->args.operands[0], "bash"))
		return cli_usage(cli, err, "completion: the only shell is bash");
	printf("# bash completion of benchmon, made by `benchmon completion bash`\n"
	       "_benchmon()\n{\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	       "\tlocal options= operands= formats= commands='");
	for (const struct cli_command *c = cli_commands; c->name; c++)
		if (c->section != SECTION_HIDDEN)
			printf("%s%s", c == cli_commands ? "" : " ", c->name);
	printf("'\n\n"
	       "\tif ((COMP_CWORD == 1)); then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
	       "\t\treturn\n\tfi\n");
	print_cases();
	print_values();
	printf("\tif [[ $cur == -* ]]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	       "\telif ((COMP_CWORD == 2)) && [[ $operands ]]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$operands\" -- \"$cur\"))\n"
	       "\telif [[ ${COMP_WORDS[1]} == grant ]] && ((COMP_CWORD == 3)); then\n"
	       "\t\tCOMPREPLY=($(compgen -W 'file net listen broker' -- \"$cur\"))\n"
	       "\telif [[ ${COMP_WORDS[1]} == why ]] && ((COMP_CWORD == 3)); then\n"
	       "\t\tCOMPREPLY=($(compgen -W 'file net last' -- \"$cur\"))\n"
	       "\telif [[ ${COMP_WORDS[1]}${COMP_WORDS[3]} == whyfile ]] && ((COMP_CWORD == 5)); "
	       "then\n"
	       "\t\tCOMPREPLY=($(compgen -W 'r w x' -- \"$cur\"))\n"
	       "\telif [[ ${COMP_WORDS[1]} == profile && $COMP_CWORD == 3 ||\n"
	       "\t\t${COMP_WORDS[1]}${COMP_WORDS[3]} == grantnet && $COMP_CWORD == 4 ]]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$(benchmon profile ls --format names "
	       "2>/dev/null)\" -- \"$cur\"))\n"
	       "\telif [[ ${COMP_WORDS[1]}${COMP_WORDS[2]} == brokerverify && $COMP_CWORD == 3 ||\n"
	       "\t\t${COMP_WORDS[1]}${COMP_WORDS[3]} == grantbroker && $COMP_CWORD == 4 ]]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$(benchmon broker ls --format names "
	       "2>/dev/null)\" -- \"$cur\"))\n"
	       "\tfi\n}\n"
	       "complete -o default -F _benchmon benchmon\n");
	return 0;
}
