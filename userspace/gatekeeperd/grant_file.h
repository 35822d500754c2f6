/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file grant: shown as it is looked at through the fd that its caller has opened, and granted
 * only if that is still so.
 */
#ifndef BENCHMON_GRANT_FILE_H
#define BENCHMON_GRANT_FILE_H

#include "gatekeeperd/daemon.h"

/* What is asked for into p; -EPERM for what the caller may not open, or is a secret. Changes
 * nothing. */
int grant_file_prepare(struct daemon *d, struct connection *c, struct bench *bench,
		       struct bm_message *message, struct pending *p, struct bm_error *err);
void grant_file_describe(struct json_object *json, const struct pending *p);

/* The connection's pending; the grant's number is used up, and it is in the ledger, from here on.
 */
int grant_file(struct daemon *d, struct connection *c, struct bench *bench, struct grant *g,
	       struct bm_error *err);

/* Whether it may appear there, and is not granted or the Bench's own already. */
int grant_file_check(struct daemon *d, struct bench *bench, const char *dest, int fd,
		     const struct bm_source *s, bool *ret_over, struct bm_error *err);

#endif
