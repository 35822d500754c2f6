/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_GRANT_NET_H
#define BENCHMON_GRANT_NET_H

#include "gatekeeperd/daemon.h"

/* What is asked for, into p; changes nothing. */
int grant_net_prepare(struct daemon *d, const struct bench *bench, struct bm_message *message,
		      struct pending *p, struct bm_error *err);
/* C of protocol/README.md, the part that only net has. */
void grant_net_describe(struct json_object *json, const struct pending *p);
/* From what was shown to what is granted; takes it over. */
void grant_net_take(struct grant *g, struct pending *p);
/* Checked again, in the ledger, and then in the kernel. */
int grant_net(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err);

#endif
