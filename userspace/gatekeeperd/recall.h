/* SPDX-License-Identifier: GPL-2.0-only */
/* What a Bench still holds of files that it is not granted: found, refused, or its holder killed.
 */
#ifndef BENCHMON_RECALL_H
#define BENCHMON_RECALL_H

#include "bench/foreign.h"
#include "gatekeeperd/daemon.h"

/*
 * Carries the revocation of a file grant through, whose tombstone stands: no call that was in the
 * kernel is still there, no mount and no mapping is left, and every descriptor is refused. What
 * can't be ascertained ends all that runs in the Bench. found (an array) gets what was held.
 * REVOKE_SEARCHES: the Bench stands still, and is looked at; asked again it is carried through.
 */
int recall_grant(struct daemon *d, struct bench *bench, struct grant *g, struct json_object *found,
		 struct bm_error *err);

/*
 * The same of a net grant, whose destination is closed: fn runs while no call is in the kernel;
 * what lies in sockets from there is refused from now on.
 */
int recall_net(struct daemon *d, struct bench *bench, int (*fn)(void *arg, struct bm_error *err),
	       void *arg, struct json_object *found, struct bm_error *err);

/*
 * For a container that ran before it was attached, with its tasks frozen: what it holds of the
 * host's files is refused from now on, also by the mounts of foreign, which will be detached.
 * -EBUSY: it maps some.
 */
int recall_attached(struct daemon *d, struct bench *bench, const struct bm_foreign_list *foreign,
		    struct bm_error *err);

/* After a grant: directories held from before that lie in it may be used again. */
void recall_regranted(struct daemon *d, struct bench *bench);

#define RECALL_SHORT_MS 500
/* Everybody waits meanwhile: how long (wait_ms of its cgroup) for it to freeze, thaw or end. */
void recall_patiently(struct bench *bench);
/* What both are made of. Something is held of what is not granted: the hooks stay attached. */
void recall_begin(struct bench *bench);
/* Runs fn with the Bench's tasks frozen. On failure they may be left so. */
int recall_while_frozen(struct bench *bench, int (*fn)(void *arg, struct bm_error *err), void *arg,
			struct bm_error *err);
/* After a pause of ours: unless somebody wants it to stand still. */
void recall_resume(struct bench *bench);
/* Kills all in it: never a revocation that has taken back less than it says. */
int recall_end_all(struct bench *bench, struct json_object *found, const struct bm_error *why,
		   struct bm_error *err);
bool recall_nothing_lives(const struct bench *bench);
/* For a Bench whose init has ended: nobody knows any more what the others hold. */
int recall_end_outlived(struct bench *bench, struct json_object *found, struct bm_error *err);

/* Its time has come. */
bool has_expired(const struct grant *g);

/*
 * Ends what has expired, and lets go of the hooks that nobody needs any more, and of the
 * tombstones; asked again by itself while something is held or will expire.
 */
void recall_review(struct daemon *d);

#endif
