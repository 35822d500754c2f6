/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_CLI_BROKER_H
#define BENCHMON_CLI_BROKER_H

#include <stdio.h>

#include "base/json.h"

/* What is to be confirmed; and of a grant what it is, each line behind before. */
void cli_broker_confirm_print(FILE *out, struct json_object *confirm);
void cli_broker_grant_print(FILE *out, struct json_object *grant, const char *before);

#endif
