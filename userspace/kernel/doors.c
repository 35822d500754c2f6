// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

int bm_door_mark(struct bm_kernel *kernel, uint32_t bench, int socket, struct bm_error *err)
{
	struct bm_door door = { .bench = bench };
	int r = bpf_map_update_elem(kernel->map.doors, &socket, &door, BPF_NOEXIST);

	return r < 0 ? bm_fail_errno(err, -r, "mark the door of Bench %u", bench) : 0;
}
