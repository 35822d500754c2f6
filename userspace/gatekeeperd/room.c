// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/io.h"

#define REMEDY "destroy or detach Benches that are not needed"

/* The lowest number that is free: about as many are in use, and it is asked in one call. */
static int descriptors_used(const struct daemon *d)
{
	autoclose fd = fcntl(d->epoll, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int room_for_bench(const struct daemon *d, uid_t uid, struct bm_error *err)
{
	size_t kept = uid ? CONFIG_RESERVED : 0, count = 0;
	int64_t theirs = 0;
	int used;

	for (const struct bench *b = d->model.benches; b; b = b->next) {
		count++;
		theirs += b->owner == uid;
	}
	if (uid && theirs >= d->config.max_benches_per_user)
		return bm_fail(err, ENOSPC, "user-limits",
			       REMEDY ", or ask root to raise max_benches_per_user in " CONFIG_PATH,
			       "uid %u has %" PRId64 " Benches, as many as one user may have", uid,
			       theirs);
	if (count >= BM_MAX_BENCHES - kept)
		return bm_fail(err, ENOSPC, "limits", REMEDY,
			       "there are %zu Benches, as many as the kernel's table takes%s",
			       count, uid ? ", but for a few of root's" : "");
	used = descriptors_used(d);
	if (used < 0 || used > d->descriptors - ROOM_DESCRIPTORS * (int)(1 + kept))
		return bm_fail(
			err, ENOSPC, "limits",
			REMEDY ", or raise LimitNOFILE= of gatekeeperd.service",
			"too few descriptors are left for another Bench: gatekeeperd may have %d",
			d->descriptors);
	return 0;
}

int room_for_grant(const struct daemon *d, const struct bench *bench, struct bm_error *err)
{
	int64_t theirs = 0;

	for (const struct bench *b = d->model.benches; b; b = b->next)
		if (b->owner == bench->owner)
			theirs += (int64_t)b->grant_count;
	if (!bench->owner || theirs < d->config.max_grants_per_user)
		return 0;
	return bm_fail(err, ENOSPC, "user-limits",
		       "revoke what is not needed, or ask root to raise max_grants_per_user "
		       "in " CONFIG_PATH,
		       "the Benches of uid %u have %" PRId64
		       " grants, as many as one user's may have",
		       bench->owner, theirs);
}
