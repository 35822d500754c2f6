// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

#include <errno.h>

static int on_sample(void *ctx, void *data, size_t size)
{
	struct bm_kernel *kernel = ctx;

	kernel->event(kernel->event_ctx, data, size);
	return 0;
}

int bm_events_open(struct bm_kernel *kernel, void (*fn)(void *ctx, const void *record, size_t size),
		   void *ctx, struct bm_error *err)
{
	kernel->event = fn;
	kernel->event_ctx = ctx;
	kernel->ring = ring_buffer__new(kernel->map.events, on_sample, kernel, NULL);
	return kernel->ring ? 0 : bm_fail_errno(err, errno, "event ring");
}

int bm_events_fd(struct bm_kernel *kernel)
{
	return ring_buffer__epoll_fd(kernel->ring);
}

int bm_events_consume(struct bm_kernel *kernel)
{
	int r = ring_buffer__consume(kernel->ring);

	return r < 0 ? r : 0;
}
