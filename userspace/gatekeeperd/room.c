// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/room.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/io.h"

#define REMEDY "destroy or detach Benches that are not needed"

/* The lowest number that is free: about as many are in use, and it is asked in one call. */
static int descriptors_used(const struct daemon *d)
{
	autoclose fd = fcntl(d->epoll, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int room_for_bench(const struct daemon *d, struct bm_error *err)
{
	size_t count = 0;
	int used;

	for (const struct bench *b = d->model.benches; b; b = b->next)
		count++;
	if (count >= BM_MAX_BENCHES)
		return bm_fail(err, ENOSPC, "limits", REMEDY,
			       "there are %zu Benches, as many as the kernel's table takes", count);
	used = descriptors_used(d);
	if (used < 0 || used > d->descriptors - ROOM_DESCRIPTORS)
		return bm_fail(
			err, ENOSPC, "limits",
			REMEDY ", or raise LimitNOFILE= of gatekeeperd.service",
			"too few descriptors are left for another Bench: gatekeeperd may have %d",
			d->descriptors);
	return 0;
}
