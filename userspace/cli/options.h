/* SPDX-License-Identifier: GPL-2.0-only */
/* A command line, parsed by the table in commands.c. */
#ifndef BENCHMON_CLI_OPTIONS_H
#define BENCHMON_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/commands.h"

struct cli_given {
	enum cli_opt opt;
	const char *value;
};

/* Everything points into argv, except the two lists. */
struct cli_args {
	uint64_t seen;
	const char *value[OPT_MAX]; /* the last one of each */
	struct cli_given *given;    /* all of them, as typed */
	size_t given_count;
	const char **operands;
	size_t operand_count;
	char **payload; /* NULL-terminated; NULL: none */
};

/*
 * argv[0] is the command's name. An option may stand anywhere before the payload; "--" ends
 * them. An error is a usage error.
 */
int cli_args_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *ret,
		   struct bm_error *err);
void cli_args_done(struct cli_args *args);

static inline bool cli_has(const struct cli_args *args, enum cli_opt opt)
{
	return args->seen & 1ull << opt;
}

int cli_format_parse(const struct cli_command *command, const char *text, enum cli_format *ret,
		     struct bm_error *err);
/* Whether an error in the rest of the line is to be JSON: found before anything is parsed. */
bool cli_wants_json(int argc, char **argv);

#endif
