/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A profile that is being sealed: resolved by a helper while the loop goes on (sealing.c), shown
 * (seal_offer.c), and sealed only as it was shown (seal_confirm.c). Of a host that is granted by
 * its name, one confirmation seals and grants.
 */
#ifndef BENCHMON_SEALING_H
#define BENCHMON_SEALING_H

#include <limits.h>

#include "gatekeeperd/daemon.h"
#include "network/resolve.h"
#include "policy/profile.h"
#include "policy/seal.h"

struct sealing {
	struct watch
		watch; /* first: a watch is cast to its sealing. The helper; -1: it has answered */
	struct connection *connection;
	char token[24]; /* "": not shown yet */
	bool refresh, had;
	bool grant; /* what is sealed is granted too: the connection's pending is its other half */
	bool overtaken; /* another connection has sealed the same profile since */
	char image[PATH_MAX];
	struct bm_profile profile;
	struct bm_sealed old, next; /* old, if had, is what it takes the place of */
	struct bm_resolving resolving;
	struct json_object *items; /* what profile-pending tells */
};

/* While it resolves, the connection has nothing else to say. NULL: there is none. */
bool sealing_busy(const struct sealing *s);
/* What it has resolved awaits a confirmation. */
bool sealing_open(const struct sealing *s);
/* Whether that is what the connection has shown last of this. */
bool sealing_awaits(const struct connection *c, const char *token);
/* Ends its helper; freed with the connection, since the loop may still hold an event of it. */
void sealing_abandon(struct daemon *d, struct sealing *s);
/* Accepts NULL. */
void sealing_free(struct sealing *s);

/*
 * Begins to resolve the host of a grant, whose profile is taken over, in place of what was shown on
 * the connection before. The offer follows when it is done; the connection is busy until then.
 */
int sealing_begin_grant(struct daemon *d, struct connection *c, struct bm_profile *profile,
			struct bm_error *err);

/* All that is to be confirmed is in s; C of protocol/README.md. */
int sealing_offer(struct daemon *d, struct sealing *s, struct json_object **ret_reply,
		  struct bm_error *err);
/* How many hosts and addresses, whether data can leave by them, and whether any is private. */
void sealing_add_counts(struct json_object *json, const struct bm_sealed *sealed);

/* Seals what was shown, and brings running Benches up to date. */
int sealing_confirm(struct daemon *d, struct connection *c, const char *how,
		    struct json_object **ret_reply, struct bm_error *err);
/*
 * The same in two halves, for what has to happen between them: the seal alone, in the ledger and on
 * disk; and then either the rest, or the seal as it was before.
 */
int sealing_seal(struct daemon *d, struct connection *c, const char *how, struct bm_error *err);
void sealing_settle(struct daemon *d, const struct sealing *s, struct json_object *reply);
void sealing_undo(struct daemon *d, const struct sealing *s);

#endif
