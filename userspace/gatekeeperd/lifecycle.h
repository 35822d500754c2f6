/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps by which a Bench begins and ends, for requests and for restoring. */
#ifndef BENCHMON_LIFECYCLE_H
#define BENCHMON_LIFECYCLE_H

#include "gatekeeperd/daemon.h"

/*
 * Turns the walls on for the container of bench->pid: freeze, admit, classify, nft, BPF, thaw, and
 * the ledger's "ready". waiting names a container of runtime_root that is created and not started
 * (else NULL): its init is marked an arrival. On failure no wall is left and it is thawed.
 */
int bench_bring_up(struct daemon *d, struct bench *bench, const char *cgroup_path,
		   const char *runtime_root, const char *waiting, struct bm_error *err);

/*
 * Ends it: grants, walls, and what was made for it; writes event with fields (taken over, may be
 * NULL) and removes it from the model. On failure it stays there, to be ended again.
 */
int bench_end(struct daemon *d, struct bench *bench, const char *event, struct json_object *fields,
	      struct bm_error *err);

bool bench_alive(const struct bench *bench);
int bench_netns(const struct bench *bench, int *ret_fd, struct bm_error *err);

/* A ledger line about the Bench. Takes over more, which may be NULL. */
int bench_record(struct daemon *d, const struct bench *bench, const char *event,
		 struct json_object *more, struct bm_error *err);

#endif
