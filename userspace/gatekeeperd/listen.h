/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A listen grant: which addresses may open connections to one port of the Bench. Its destinations
 * (network/address.h) are those peers, one unnamed host's.
 */
#ifndef BENCHMON_GATEKEEPERD_LISTEN_H
#define BENCHMON_GATEKEEPERD_LISTEN_H

#include "gatekeeperd/daemon.h"

/* "port", "protocol" and "from" of a request, a reply and a ledger line. */
void listen_to_json(struct json_object *json, const struct grant_hosts *hosts);
/* -EINVAL, or -EPERM for an address that no peer has. *ret is the caller's; it may have no peer. */
int listen_from_json(struct json_object *json, struct grant_hosts *ret, struct bm_error *err);

/* What is asked for, into p; changes nothing. */
int listen_prepare(const struct bench *bench, struct bm_message *message, struct pending *p,
		   struct bm_error *err);
/* Checked again, in the ledger, and then in the kernel. */
int listen_grant(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err);
/* g was the last, perhaps: then nobody looks for more. */
void listen_revoked(struct daemon *d, struct bench *bench, const struct grant *g);
/* For replies: "at", where the Bench is reached by its link. */
void listen_add_at(struct json_object *json, const struct bench *bench, const struct grant *g);

#endif
