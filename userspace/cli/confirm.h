/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_CLI_CONFIRM_H
#define BENCHMON_CLI_CONFIRM_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"

/* What the daemon sees, aligned. confirm is C of protocol/README.md. */
void cli_confirm_print(FILE *out, struct json_object *confirm);

/* The hosts of a net grant, a line each. */
void cli_print_hosts(FILE *out, struct json_object *grant, const char *before);

/* listen.c: the port of a listen grant, "8080/tcp"; returns buf. Its peers, a line each. */
const char *cli_show_port(struct json_object *grant, char *buf, size_t size);
void cli_print_peers(FILE *out, struct json_object *grant, const char *before);

/*
 * Shows it and has it confirmed. yes: not asked, shown on out (NULL: not shown). *ret_how is
 * what the record will say. -ECANCELED: refused, or interrupted.
 */
int cli_confirm(struct json_object *confirm, bool yes, FILE *out, const char **ret_how,
		struct bm_error *err);

#endif
