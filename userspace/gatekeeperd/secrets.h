/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether what is granted is a secret, or has some in it, and what the caller chose to do about it.
 */
#ifndef BENCHMON_GATEKEEPERD_SECRETS_H
#define BENCHMON_GATEKEEPERD_SECRETS_H

#include "gatekeeperd/daemon.h"

/* Takes the place of the list that is built in: profiles/secrets.json. */
#define SECRETS_FILE "/etc/benchmon/secrets.json"

/* The options of a request, --secret and its like, into p. */
void secrets_options(struct json_object *request, struct pending *p);

/*
 * For a file grant that has been looked at, after its exceptions: -EPERM by the rule "secret" where
 * something is recognized that is neither excepted nor granted as one. May add exceptions to p.
 */
int secrets_prepare(struct daemon *d, const struct connection *c, const struct bench *bench,
		    struct pending *p, struct bm_error *err);

#endif
