/* SPDX-License-Identifier: GPL-2.0-only */
/* benchmon profile: its verbs, and how profiles look. */
#ifndef BENCHMON_CLI_PROFILE_H
#define BENCHMON_CLI_PROFILE_H

#include <stdio.h>

#include "cli/cli.h"

/* What is going to be sealed; "items" of profile-pending is in it. */
void cli_profile_confirm_print(FILE *out, struct json_object *confirm);
/* A table of P of protocol/README.md. */
int cli_profile_table(struct json_object *profiles, struct bm_error *err);
/* One P, with its "entries" and "hosts". */
void cli_profile_print(FILE *out, struct json_object *profile);

/* The same of a host that is granted by its name: sealed and granted at once. */
void cli_host_confirm_print(FILE *out, struct json_object *confirm);
/* What a new seal changed in running Benches: "refreshed" of a reply. */
void cli_profile_refreshed_print(FILE *out, struct json_object *reply);

/* profile_seal.c: seal, refresh, unseal. */
int cli_profile_seal(struct cli *cli, const char *name, struct bm_error *err);
int cli_profile_refresh(struct cli *cli, const char *name, struct bm_error *err);
int cli_profile_unseal(struct cli *cli, const char *name, struct bm_error *err);
/* profile_seal.c: all that is to be confirmed, into the confirmation itself, as "items". */
int cli_profile_items(int socket, struct json_object *confirm, struct bm_error *err);

/* image.c: mounts an image of podman's, to be looked at. -ENOENT: there is no podman. */
int cli_image_mount(const char *image, int *ret_fd, struct bm_error *err);
void cli_image_unmount(const char *image);

#endif
