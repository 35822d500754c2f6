/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a forked helper may still do: its capabilities and its system calls, given up before it
 * looks at anything of a Bench. A helper that needs more gets a row of its own in confine.c.
 */
#ifndef BENCHMON_CONFINE_H
#define BENCHMON_CONFINE_H

#include "base/error.h"

enum bm_confinement {
	BM_CONFINE_LOOK,    /* enters a mount namespace and opens or clones what is in it */
	BM_CONFINE_MOUNT,   /* and mounts, unmounts, makes mount points */
	BM_CONFINE_NETWORK, /* enters a network namespace, opens netlink, sets sysctls */
	BM_CONFINE_USER,    /* makes a user namespace and waits */
	BM_CONFINE_SCAN,    /* reads what processes hold */
	BM_CONFINE_READ,    /* opens and reads files below a directory that it was given */
	BM_CONFINE_RESOLVE, /* asks the system's resolver; nobody's user */
	BM_CONFINE_MAX,
};

/* The user of a helper that must own nothing. */
#define BM_NOBODY 65534

/* For good. Of a task that has been filtered already, only what both filters allow is left. */
int bm_confine(enum bm_confinement what, struct bm_error *err);

#endif
