// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"

/* Above any short option's letter. */
#define LONG_BASE 256

static void table_for(uint64_t options, struct option *ret_long, char *ret_short)
{
	size_t n = 0, s = 0;

	/* '+': operands are ours to collect, a payload's options are not options of ours. */
	ret_short[s++] = '+';
	ret_short[s++] = ':';
	for (int opt = 0; opt < OPT_MAX; opt++) {
		const struct cli_option *o = &cli_options[opt];

		if (!(options & 1ull << opt))
			continue;
		ret_long[n++] = (struct option){ o->name, o->arg ? required_argument : no_argument,
						 NULL, LONG_BASE + opt };
		if (!o->key)
			continue;
		ret_short[s++] = o->key;
		if (o->arg)
			ret_short[s++] = ':';
	}
	ret_long[n] = (struct option){};
	ret_short[s] = '\0';
}

static int opt_of(int code, uint64_t options)
{
	if (code >= LONG_BASE)
		return code - LONG_BASE;
	for (int opt = 0; opt < OPT_MAX; opt++)
		if (options & 1ull << opt && cli_options[opt].key == code)
			return opt;
	return -1;
}

static int refuse(const struct cli_command *command, struct bm_error *err, const char *why,
		  const char *word, const char *nearest)
{
	char remedy[128], shown[128];

	if (nearest)
		snprintf(remedy, sizeof(remedy), "did you mean --%s?", nearest);
	else
		snprintf(remedy, sizeof(remedy), "see `benchmon help %s`", command->name);
	return bm_fail(err, EINVAL, NULL, remedy, "%s: %s%s%s", command->name, why, word ? " " : "",
		       word ? bm_escape(word, shown, sizeof(shown)) : "");
}

static int count_check(const struct cli_command *command, const struct cli_args *args,
		       struct bm_error *err)
{
	if (args->seen & OPT(HELP))
		return 0;
	if (args->operand_count < command->operands_min ||
	    (command->payload && !args->payload && args->operand_count <= command->operands_max)) {
		const struct cli_form *form = &command->forms[0];
		char remedy[128];

		snprintf(remedy, sizeof(remedy), "it is `benchmon %s %s%s%s`", command->name,
			 form->args, *form->args && form->tail ? " " : "", form->tail ?: "");
		return bm_fail(err, EINVAL, NULL, remedy, "%s: something is missing",
			       command->name);
	}
	if (args->operand_count > command->operands_max)
		return refuse(command, err,
			      "one argument too many:", args->operands[command->operands_max],
			      NULL);
	return 0;
}

/* An abbreviation would mean something else as soon as there is another option. */
static bool abbreviated(const char *word, const struct cli_option *o)
{
	size_t len = strcspn(word + 2, "=");

	return len != strlen(o->name) || strncmp(word + 2, o->name, len);
}

/* getopt_long() stops at each operand; -1 at the end of what is ours. */
static int next(const struct cli_command *command, int argc, char **argv, const char *keys,
		const struct option *table, struct cli_args *args)
{
	for (;;) {
		/* 0 asks getopt to start anew, at 1. */
		int before = optind ?: 1;
		int code = getopt_long(argc, argv, keys, table, NULL);
		bool ended = optind == before + 1 && !strcmp(argv[before], "--");

		if (code != -1)
			return code;
		while (optind < argc) {
			if (command->payload && args->operand_count == command->operands_max) {
				args->payload = argv + optind;
				return -1;
			}
			args->operands[args->operand_count++] = argv[optind++];
			if (!ended)
				break;
		}
		if (optind >= argc)
			return -1;
	}
}

int cli_args_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *ret,
		   struct bm_error *err)
{
	uint64_t options = command->options | OPT_COMMON;
	struct option table[OPT_MAX + 1];
	char keys[2 * OPT_MAX + 3];
	int code;

	*ret = (struct cli_args){};
	ret->given = calloc((size_t)argc + 1, sizeof(*ret->given));
	ret->operands = calloc((size_t)argc + 1, sizeof(*ret->operands));
	if (!ret->given || !ret->operands)
		return bm_fail_errno(err, ENOMEM, "arguments");
	table_for(options, table, keys);
	optind = 0;
	while ((code = next(command, argc, argv, keys, table, ret)) != -1) {
		/* An option's value may be a word of its own. */
		const char *word = argv[optind - (optarg && optarg == argv[optind - 1] ? 2 : 1)];
		char key[3] = { '-', (char)optopt, '\0' };
		int opt = opt_of(code, options);

		/* A short one may stand in a cluster, its word is then not yet behind us. */
		if (code == '?' && optopt && optopt < LONG_BASE)
			return refuse(command, err, "unknown option", key, NULL);
		if (code == '?')
			return refuse(command, err, optopt ? "takes no value:" : "unknown option",
				      word, optopt ? NULL : cli_option_nearest(word, options));
		if (code == ':')
			return refuse(command, err, "a value is missing after", word, NULL);
		if (opt < 0)
			return refuse(command, err, "unknown option", word, NULL);
		if (code >= LONG_BASE && abbreviated(word, &cli_options[opt]))
			return refuse(command, err, "an option is abbreviated:", word,
				      cli_options[opt].name);
		ret->seen |= 1ull << opt;
		ret->value[opt] = optarg;
		ret->given[ret->given_count++] = (struct cli_given){ (enum cli_opt)opt, optarg };
	}
	return count_check(command, ret, err);
}

void cli_args_done(struct cli_args *args)
{
	free(args->given);
	free(args->operands);
	*args = (struct cli_args){};
}

int cli_format_parse(const struct cli_command *command, const char *text, enum cli_format *ret,
		     struct bm_error *err)
{
	uint32_t allowed = command->formats | 1u << FORMAT_TEXT | 1u << FORMAT_JSON;

	for (int format = 0; format < FORMAT_MAX; format++) {
		if (allowed & 1u << format && !strcmp(text, cli_formats[format])) {
			*ret = (enum cli_format)format;
			return 0;
		}
	}
	return refuse(command, err, "unknown format", text, NULL);
}

bool cli_wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--format=json") ||
		    (!strcmp(argv[i], "--format") && i + 1 < argc && !strcmp(argv[i + 1], "json")))
			return true;
	return false;
}
