/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_CLI_LEDGER_H
#define BENCHMON_CLI_LEDGER_H

#include <stdio.h>

#include "base/json.h"

/* A line of the ledger for people; nothing for one that only says again what stands. */
void cli_ledger_line(FILE *out, struct json_object *line);

#endif
