/* SPDX-License-Identifier: GPL-2.0-only */
/* What a Bench may use up, and until when. */
#ifndef BENCHMON_CLI_LIMITS_H
#define BENCHMON_CLI_LIMITS_H

#include <stdio.h>

#include "cli/cli.h"

/* "limits" into a request, where the options say any. */
int cli_limits(struct cli *cli, struct json_object *request, struct bm_error *err);
/* "limits     memory 512M, cpus 1.5, until 2026-01-01T00:00:00Z"; nothing where there are none. */
void cli_limits_print(FILE *out, struct json_object *bench);

#endif
