/* SPDX-License-Identifier: GPL-2.0-only */
/* What the ledger says: the model it makes, and what it lets stand in the kernel. */
#ifndef BENCHMON_REPLAY_H
#define BENCHMON_REPLAY_H

#include "gatekeeperd/daemon.h"

/* Fills d->model from d->ledger. -EBADMSG names the line that makes no sense. */
int replay_ledger(struct daemon *d, struct bm_error *err);

/* For bm_tables_prune(): what of the kernel's tables model has too. */
struct bm_keep replay_keep(struct model *model);

#endif
