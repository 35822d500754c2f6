/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests as people see them: what the daemon knows of one, and its asker's own words as such. */
#ifndef BENCHMON_CLI_ASK_H
#define BENCHMON_CLI_ASK_H

#include <stdio.h>

#include "base/json.h"

/* "Bench b1 itself" or "uid 1000"; returns buf. */
const char *cli_ask_by(struct json_object *request, char *buf, size_t size);
/*
 * What they wrote, quoted; before stands in front of each line and is of 12 columns. Cut so that no
 * terminal wraps it: else what follows a row of blanks looked like a line of ours.
 */
void cli_ask_words(FILE *out, const char *before, const char *text);
/* The rows of one that is to be confirmed. */
void cli_ask_print(FILE *out, struct json_object *request);
/* A few lines of the list. */
void cli_ask_print_item(FILE *out, struct json_object *request);

#endif
