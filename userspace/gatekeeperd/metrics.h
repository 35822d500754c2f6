/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters for node_exporter's textfile collector: userspace/audit/README.md says which. */
#ifndef BENCHMON_METRICS_H
#define BENCHMON_METRICS_H

#include "gatekeeperd/daemon.h"

#define METRICS_NAME "benchmon.prom"

/* All of them as text; the caller's. NULL when out of memory. */
char *metrics_text(struct daemon *d);
/* Writes them when that is due, and comes again by itself. */
void metrics_review(struct daemon *d);
/* From now on. */
void metrics_begin(struct daemon *d);

#endif
