/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /etc/hosts of a Bench that is granted hosts by name: it has no DNS. A file of the daemon's below
 * /run/benchmon, mounted there read-only with the first such grant and taken away with the last.
 */
#ifndef BENCHMON_GATEKEEPERD_NAMES_H
#define BENCHMON_GATEKEEPERD_NAMES_H

#include "gatekeeperd/daemon.h"

/* As its grants have it now, and also (which may be NULL) one that is about to be. */
int names_update(struct daemon *d, struct bench *bench, const struct grant *also,
		 struct bm_error *err);
/* After a start: whether it was there. */
void names_find(struct bench *bench);
/* With its Bench the mount ends; the file too. */
void names_forget(struct bench *bench);

#endif
