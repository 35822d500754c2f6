/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of a grant, and what each takes of the options of grant, confirm and request. */
#ifndef BENCHMON_CLI_KINDS_H
#define BENCHMON_CLI_KINDS_H

#include "cli/cli.h"

/* A usage error where kind is none, or takes not all options that were given. */
int cli_check_kind(struct cli *cli, const char *kind, struct bm_error *err);
/* The same where one operand at least is missing. */
int cli_kind_usage(struct cli *cli, const char *kind, struct bm_error *err);

/* Those of the options that go into a request of that kind as they are, but --private. */
int cli_add_options(struct cli *cli, const char *kind, struct json_object *request,
		    struct bm_error *err);

#endif
