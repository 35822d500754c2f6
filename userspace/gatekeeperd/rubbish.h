/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What ended Benches wrote may be a million files. It is put aside when they end (bench/box.h) and
 * removed here, one after another, while the loop goes on.
 */
#ifndef BENCHMON_RUBBISH_H
#define BENCHMON_RUBBISH_H

#include "gatekeeperd/daemon.h"

/* Begins with what there is, if nothing is being removed yet. */
void rubbish_collect(struct daemon *d);

#endif
