/* SPDX-License-Identifier: GPL-2.0-only */
/* What was denied in a Bench, equal ones counted together. */
#ifndef BENCHMON_CLI_DENIALS_H
#define BENCHMON_CLI_DENIALS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"

struct cli_denial {
	struct json_object *event; /* the first one */
	uint64_t count;
};

struct cli_denials {
	struct cli_denial *list;
	size_t kinds;
	uint64_t total, lost;
};

int cli_denials_read(int socket, const char *bench, struct cli_denials *ret, struct bm_error *err);
void cli_denials_add(struct cli_denials *denials, struct json_object *event);
/* kept: the Bench is still there to grant something to. */
void cli_denials_print(const struct cli_denials *denials, const char *bench, bool kept, FILE *out);
/* [{"count", "event"}]; the caller owns it. */
struct json_object *cli_denials_json(const struct cli_denials *denials);
void cli_denials_done(struct cli_denials *denials);

#endif
