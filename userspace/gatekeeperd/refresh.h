/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What running Benches have of a profile that was sealed anew: what is new opens before what is
 * gone closes, and what stays is never touched.
 */
#ifndef BENCHMON_REFRESH_H
#define BENCHMON_REFRESH_H

#include "gatekeeperd/daemon.h"
#include "policy/seal.h"

/*
 * Every grant of that profile to a Bench of uid's, and what became of it: R of protocol/README.md,
 * the caller's. What fails is logged too, and tried again with the next seal or start.
 */
struct json_object *grants_refresh(struct daemon *d, const struct bm_sealed *next, uid_t uid);

/* The second half of one: the ledger and the kernel have both, and what is gone closes. */
int net_refresh_end(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err);

#endif
