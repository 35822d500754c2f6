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
 */
int recall_grant(struct daemon *d, struct bench *bench, struct grant *g, struct json_object *found,
		 struct bm_error *err);

/*
 * For a container that ran before it was attached, with its tasks frozen: what it holds of the
 * host's files is refused from now on, also by the mounts of foreign, which will be detached.
 * -EBUSY: it maps some.
 */
int recall_attached(struct daemon *d, struct bench *bench, const struct bm_foreign_list *foreign,
		    struct bm_error *err);

/* After a grant: directories held from before that lie in it may be used again. */
void recall_regranted(struct daemon *d, struct bench *bench);

/* Its time has come. */
bool has_expired(const struct grant *g);

/*
 * Ends what has expired, and lets go of the hooks that nobody needs any more, and of the
 * tombstones; asked again by itself while something is held or will expire.
 */
void recall_review(struct daemon *d);

#endif
