/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps by which a Bench begins and ends, for requests and for restoring. */
#ifndef BENCHMON_LIFECYCLE_H
#define BENCHMON_LIFECYCLE_H

#include "gatekeeperd/daemon.h"

struct bring_up {
	/* A container that is created and not started (else NULL), whose init is an arrival. */
	const char *waiting;
	/* Where its runtime keeps its state; NULL where that waits for its createRuntime hook. */
	const char *runtime_root;
	const char *rootfs;     /* what the runtime made it with, NULL where it is not known */
	struct adoption *adopt; /* gets its volumes; NULL: nobody asks for them */
};

/*
 * Turns the walls on for the container of bench->pid in bench->cgroup: freeze, hold, admit,
 * classify, nft, BPF, detach what is the host's, the ledger's "ready", thaw. On failure no wall is
 * left, but what was detached stays so, and err says it.
 */
int bench_bring_up(struct daemon *d, struct bench *bench, const struct bring_up *how,
		   struct bm_error *err);

/* -EEXIST, -EBUSY: the cgroup is, or lies above or below, that of another Bench. */
int bench_refuse_overlap(struct daemon *d, const struct bench *bench,
			 const struct bm_cgroup_ref *cgroup, struct bm_error *err);

/* Opens bench->target (rootfs as there) and lets go of it when its init ends. */
int bench_hold(struct daemon *d, struct bench *bench, const char *rootfs, struct bm_error *err);

/*
 * Ends it: grants, walls, and what was made for it; writes event with fields (taken over, may be
 * NULL), a receipt with it, and removes it from the model. On failure it stays there, to be ended
 * again.
 */
int bench_end(struct daemon *d, struct bench *bench, const char *event, struct json_object *fields,
	      struct bm_error *err);

/* The same; reply, which may be NULL and stays the caller's, gets its receipt, and how often it was
 * denied. */
int bench_end_told(struct daemon *d, struct bench *bench, const char *event,
		   struct json_object *fields, struct json_object *reply, struct bm_error *err);

bool bench_alive(const struct bench *bench);

/* A ledger line about the Bench. Takes over more, which may be NULL. */
int bench_record(struct daemon *d, const struct bench *bench, const char *event,
		 struct json_object *more, struct bm_error *err);

#endif
