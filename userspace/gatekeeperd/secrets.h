/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether what is granted is a secret, or has some in it, and what the caller chose to do about it.
 */
#ifndef BENCHMON_GATEKEEPERD_SECRETS_H
#define BENCHMON_GATEKEEPERD_SECRETS_H

#include "gatekeeperd/daemon.h"
#include "policy/secrets.h"

/* Takes the place of the list that is built in: profiles/secrets.json. */
#define SECRETS_FILE "/etc/benchmon/secrets.json"

/* The options of a request, --secret and its like, into p. */
void secrets_options(struct json_object *request, struct pending *p);

/*
 * For a file grant that has been looked at, after its exceptions: -EPERM by the rule "secret" where
 * it is recognized as one and not granted as such. What can't be told by its path is searched: then
 * secrets_busy() (secrets_search.h), and offered when that is done.
 */
int secrets_prepare(struct daemon *d, struct connection *c, const struct bench *bench,
		    struct pending *p, struct bm_error *err);
/* What was found in it: refused, or excepted in p. */
int secrets_judge(struct pending *p, const struct bm_secrets_scan *found, struct bm_error *err);

#endif
