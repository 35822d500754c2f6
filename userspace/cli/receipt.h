/* SPDX-License-Identifier: GPL-2.0-only */
/* What a Bench was given and did, for people. */
#ifndef BENCHMON_CLI_RECEIPT_H
#define BENCHMON_CLI_RECEIPT_H

#include <stdio.h>

#include "cli/cli.h"

/* Of the reply to destroy or detach: what was written, where the receipt is, or why there is none.
 */
void cli_receipt_told(struct json_object *reply);
/* It had ended before: when, and where its receipt is. */
void cli_receipt_already(struct json_object *reply, const char *done);
/* All of it; checks are those of the reply. */
void cli_receipt_print(FILE *out, struct json_object *receipt, struct json_object *checks);

#endif
