/* SPDX-License-Identifier: GPL-2.0-only */
/* A Bench, what it was granted and what it was denied, as a Mermaid flowchart. */
#ifndef BENCHMON_CLI_MERMAID_H
#define BENCHMON_CLI_MERMAID_H

#include <stdio.h>

#include "base/json.h"
#include "cli/denials.h"

/* bench: B of protocol/README.md. denials NULL: nobody asked. */
void cli_mermaid(FILE *out, struct json_object *bench, const struct cli_denials *denials);

#endif
