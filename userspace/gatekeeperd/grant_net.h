/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_GRANT_NET_H
#define BENCHMON_GRANT_NET_H

#include "gatekeeperd/daemon.h"

/*
 * What is asked for, into c->pending; changes nothing. Of a host by its name, that is yet to be
 * resolved: sealing_busy() says so, and it is offered when that is done.
 */
int grant_net_prepare(struct daemon *d, struct connection *c, const struct bench *bench,
		      struct bm_message *message, struct bm_error *err);
/* What is, or is going to be, sealed. -ENOMEM. */
int grant_net_take_sealed(struct pending *p, const struct bm_sealed *sealed);
/* C of protocol/README.md, the part that only net has. */
void grant_net_describe(struct json_object *json, const struct pending *p);
/* From what was shown to what is granted; takes it over. */
int grant_net_take(struct grant *g, struct pending *p);
/* Checked again, in the ledger, and then in the kernel. */
int grant_net(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err);

#endif
