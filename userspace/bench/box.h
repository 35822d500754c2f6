/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The container of a Bench that benchmon makes itself: an overlay over a root file system, whose
 * upper layer is thrown away, and a scratch directory at /work. Mounts are made in the daemon's
 * own mount namespace: they end with it and are never seen on the host.
 */
#ifndef BENCHMON_BOX_H
#define BENCHMON_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bench/limits.h"

#define BM_BOX_RUN "/run/benchmon/benches"
#define BM_BOX_STATE "/var/lib/benchmon/benches"
/* What is only to be removed any more. */
#define BM_BOX_GONE BM_BOX_STATE "/.gone"
#define BM_SLICE "benchmon"

/* 4095 ranges of 65536 ids above everything that systemd and shadow hand out. */
#define BM_ID_FIRST 0x70000000u
#define BM_ID_COUNT 65536u
#define BM_ID_SLOTS 4095u

struct bm_box {
	const char *name;
	int rootfs; /* directory, opened by the caller */
	pid_t peer; /* the caller, in whose mount namespace rootfs is */
	bool root;  /* who is root: with all ids of rootfs, and the layers of an overlay */
	uid_t uid;  /* else with these alone, which are the Bench root's */
	gid_t gid;
	uint32_t slot; /* of the id ranges; nobody else's while the box lives */
	struct bm_limits limits;
	bool image;  /* exec: image */
	bool userns; /* it may make user namespaces */
};

/* Up to a container that is created and waits to be started. On failure nothing is left. */
int bm_box_create(const struct bm_box *box, pid_t *ret_pid, struct bm_error *err);
int bm_box_start(const char *name, struct bm_error *err);
/*
 * Kills and removes all of it, whatever there is; but what the Bench wrote is only put aside: that
 * may take long.
 */
int bm_box_destroy(const char *name, struct bm_error *err);
/* Removes the layers and scratch of boxes that are not in names (NULL-terminated). */
int bm_box_sweep(const char *const *names, struct bm_error *err);

/* One of those that are put aside; false: there is none. */
bool bm_box_gone(char *ret_path, size_t size);
/* All of them, and waits for it: for who has no loop. */
int bm_box_remove_gone(struct bm_error *err);

/* The scratch directory of a box, for marking; O_PATH. */
int bm_box_scratch(const char *name, int *ret_fd);

#endif
