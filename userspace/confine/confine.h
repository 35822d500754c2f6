/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a forked helper may still do: its capabilities and its system calls, given up before it
 * looks at anything of a Bench. A helper that needs more gets a row of its own in confine.c.
 */
#ifndef BENCHMON_CONFINE_H
#define BENCHMON_CONFINE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

enum bm_confinement {
	BM_CONFINE_LOOK,    /* enters a mount namespace and opens or clones what is in it */
	BM_CONFINE_MOUNT,   /* and mounts, unmounts, makes mount points */
	BM_CONFINE_PIN,     /* and makes an empty mount namespace */
	BM_CONFINE_NETWORK, /* enters a network namespace, opens netlink or listens, sets sysctls */
	BM_CONFINE_USER,    /* makes a user namespace and waits */
	BM_CONFINE_SCAN,    /* reads what processes hold */
	BM_CONFINE_READ,    /* opens and reads files below a directory that it was given */
	BM_CONFINE_OUTPUTS, /* the same without any capability: what its user may read */
	BM_CONFINE_ACCESS,  /* asks whether its user may open what it was given */
	BM_CONFINE_RESOLVE, /* asks the system's resolver; nobody's user */
	BM_CONFINE_LISTEN,  /* listens at sockets that it was given; nobody's user */
	BM_CONFINE_MAX,
};

/* The user of a helper that must own nothing. */
#define BM_NOBODY 65534

/* For good. Of a task that has been filtered already, only what both filters allow is left. */
int bm_confine(enum bm_confinement what, struct bm_error *err);

/*
 * Before that: files are opened as that user's, in no other group. To signals it stays root, so
 * that the user whose files it reads can't end it. -EPERM: who is not root has no other user to be.
 */
int bm_confine_user(uid_t uid, gid_t gid, struct bm_error *err);
/* The same in these groups too. */
int bm_confine_groups(uid_t uid, gid_t gid, const gid_t *groups, size_t count,
		      struct bm_error *err);

#endif
