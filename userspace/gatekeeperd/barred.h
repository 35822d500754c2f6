/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Directories that are held without a grant. Opening a file from one is refused by its object; that
 * nothing can even be looked up from it takes a tombstone on that very directory.
 */
#ifndef BENCHMON_BARRED_H
#define BENCHMON_BARRED_H

#include "bench/held.h"
#include "gatekeeperd/daemon.h"

/* Those of held that lie in no grant in force. number: of the grant revoked, 0 for none. */
int barred_mark(struct daemon *d, struct bench *bench, const struct bm_held_list *held,
		uint32_t number, struct bm_error *err);
/* Removes those marks; the tombstones of the grants themselves stay. */
void barred_clear(struct daemon *d, struct bench *bench);
/* Removes the tombstones of grants that have been carried through. */
void barred_bury(struct daemon *d, struct bench *bench);

/*
 * A container that runs: stdin, stdout and stderr that its runtime gave to init, or to what it
 * executed since, are files of no mount of the container.
 */
int barred_spare_stdio(struct daemon *d, struct bench *bench, struct bm_error *err);

#endif
