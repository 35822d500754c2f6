// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

#include <errno.h>

#define PIN BM_PIN_DIR "/maps/ledger"

static int put(int map, const struct bm_ledger_end *end)
{
	return bpf_map_update_elem(map, &(uint32_t){ 0 }, end, BPF_ANY);
}

int bm_ledger_end_put(struct bm_kernel *kernel, const struct bm_ledger_end *end)
{
	return put(kernel->map.ledger, end);
}

int bm_pinned_end_get(struct bm_ledger_end *ret)
{
	autoclose map = bpf_obj_get(PIN);

	return map < 0 ? -errno : bpf_map_lookup_elem(map, &(uint32_t){ 0 }, ret);
}

int bm_pinned_end_put(const struct bm_ledger_end *end)
{
	autoclose map = bpf_obj_get(PIN);

	if (map < 0)
		return errno == ENOENT ? 0 : -errno;
	return put(map, end);
}
