// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"

/* roff reads '-' as a hyphen, which cannot be searched for or pasted. */
static void print_roff(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		printf(text[i] == '-' ? "\\-" : "%c", text[i]);
}

/* Placeholders are in capitals: italic; what is typed as it stands: bold; brackets: neither. */
static void print_words(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " []|:.");
		bool placeholder = isupper((unsigned char)*text);

		if (!len) {
			putchar(*text++);
			continue;
		}
		printf(placeholder ? "\\fI" : "\\fB");
		print_roff(text, len);
		printf("\\fR");
		text += len;
	}
}

static void print_option(const struct cli_option *o)
{
	printf("[\\fB\\-\\-");
	print_roff(o->name, strlen(o->name));
	printf("\\fR");
	/* A blank that does not break: the option stays with its value. */
	if (o->arg) {
		printf("\\ ");
		print_words(o->arg);
	}
	printf("]\n");
}

static void print_form(const struct cli_command *command, const struct cli_form *form)
{
	printf(".SY \"benchmon %s\"\n", command->name);
	if (*form->args) {
		print_words(form->args);
		putchar('\n');
	}
	for (int opt = 0; opt < OPT_MAX; opt++)
		if (form->options & 1ull << opt)
			print_option(&cli_options[opt]);
	if (form->tail) {
		print_words(form->tail);
		putchar('\n');
	}
	printf(".YS\n");
}

static void print_options(void)
{
	for (int opt = 0; opt < OPT_MAX; opt++) {
		const struct cli_option *o = &cli_options[opt];
		bool used = OPT_COMMON & 1ull << opt;
		const char *separator = ": ";

		printf(".TP\n");
		if (o->key)
			printf("\\fB\\-%c\\fR, ", o->key);
		printf("\\fB\\-\\-");
		print_roff(o->name, strlen(o->name));
		printf("\\fR");
		if (o->arg) {
			putchar(' ');
			print_words(o->arg);
		}
		printf("\n%s", used ? "every command" : "");
		for (const struct cli_command *c = cli_commands; !used && c->name; c++) {
			if (!(c->options & 1ull << opt))
				continue;
			printf("%s\\fB%s\\fR", *separator == ':' ? "" : separator, c->name);
			separator = ", ";
		}
		printf(": ");
		print_roff(o->doc, strlen(o->doc));
		printf(".\n");
	}
}

int cmd_synopsis(struct cli *cli, struct bm_error *err)
{
	if (cli->args.operand_count && strcmp(cli->args.operands[0], "options"))
		return cli_usage(cli, err, "synopsis: the only part is options");
	if (cli->args.operand_count) {
		print_options();
		return 0;
	}
	printf(".SY benchmon\n[\\fIcommand\\fR]\n[\\fB\\-\\-format\\ text\\fR|\\fBjson\\fR]\n"
	       "[\\fB\\-\\-help\\fR]\n.YS\n");
	for (const struct cli_command *c = cli_commands; c->name; c++)
		if (c->section != SECTION_HIDDEN)
			for (int i = 0; i < CLI_FORMS && c->forms[i].args; i++)
				print_form(c, &c->forms[i]);
	return 0;
}
