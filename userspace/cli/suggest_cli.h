/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps of `benchmon suggest`, over what suggest.h works out. */
#ifndef BENCHMON_CLI_SUGGEST_CLI_H
#define BENCHMON_CLI_SUGGEST_CLI_H

#include "cli/cli.h"
#include "cli/suggest.h"

/* suggest_net.c: which sealed profile leads where; then the grants that follow. */
int suggest_profiles(int socket, struct suggest *s, struct bm_error *err);
struct json_object *suggest_nets(struct suggest *s);

/* suggest_host.c: what looks like a secret goes apart; the rest is merged, by what the host has. */
int suggest_secrets(int socket, struct suggest *s, struct bm_error *err);
enum suggest_there suggest_there(const char *path);
/* Appends to grants. */
int suggest_files(struct suggest *s, struct json_object *grants);

/* suggest_print.c: the command that makes a grant ("": none can be typed), and all of it. */
const char *suggest_command(struct json_object *grant, const char *bench, char *buf, size_t size);
void suggest_print(struct json_object *result);
/* What a template has of it: gatekeeperd/template.schema.json. */
struct json_object *suggest_template(struct json_object *grants);

#endif
