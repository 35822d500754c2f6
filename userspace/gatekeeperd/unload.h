/* SPDX-License-Identifier: GPL-2.0-only */
/* The ends that are not a Bench's own: programs taken out of the kernel, or found incomplete. */
#ifndef BENCHMON_UNLOAD_H
#define BENCHMON_UNLOAD_H

#include "gatekeeperd/daemon.h"

/*
 * Enforcement is incomplete and can't be adopted: what runs in any Bench of the ledger is stopped
 * where it is, and stays so until somebody decides.
 */
void freeze_all(struct daemon *d);

/* `gatekeeperd --unload`: refused while there are Benches; with force they are killed first. */
int unload_main(bool force);

#endif
