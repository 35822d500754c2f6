// SPDX-License-Identifier: GPL-2.0-only
/* The sockets at which brokers listen. */
#include "kernel/internal.h"

int bm_endpoint_mark(struct bm_kernel *kernel, int fd, uint32_t bench, uint32_t grant,
		     struct bm_error *err)
{
	struct bm_endpoint endpoint = { .bench = bench, .grant = grant };
	int r = bpf_map_update_elem(kernel->map.endpoints, &fd, &endpoint, BPF_ANY);

	return r < 0 ? bm_fail_errno(err, -r, "mark the broker's socket") : 0;
}
