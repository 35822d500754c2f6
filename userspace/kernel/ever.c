// SPDX-License-Identifier: GPL-2.0-only
/* What a Bench ever had: one word of the programs' own memory, which they change too. */
#include "kernel/internal.h"

#include <errno.h>

static int find(struct bm_kernel *kernel, uint64_t cgroup_id, volatile uint32_t **ret)
{
	struct bm_bench bench;
	int r = bpf_map_lookup_elem(kernel->map.benches, &cgroup_id, &bench);

	if (r < 0)
		return r;
	if (!bench.slot || bench.slot >= BM_SLOTS)
		return -ENOENT;
	*ret = &kernel->config->ever[bench.slot];
	return 0;
}

int bm_ever_get(struct bm_kernel *kernel, uint64_t cgroup_id, uint32_t *ret)
{
	volatile uint32_t *ever;
	int r = find(kernel, cgroup_id, &ever);

	if (r == 0)
		*ret = *ever;
	return r;
}

int bm_sent_get(struct bm_kernel *kernel, uint64_t cgroup_id, uint64_t *ret)
{
	struct bm_bench bench;
	int r = bpf_map_lookup_elem(kernel->map.benches, &cgroup_id, &bench);

	if (r == 0)
		*ret = kernel->config->sent[bench.slot % BM_SLOTS];
	return r;
}

int bm_ever_claim(struct bm_kernel *kernel, uint64_t cgroup_id, enum bm_ever what,
		  struct bm_error *err)
{
	volatile uint32_t *ever;
	uint32_t was;
	int r = find(kernel, cgroup_id, &ever);

	if (r < 0)
		return bm_fail_errno(err, -r, "benches");
	was = __sync_val_compare_and_swap(ever, 0, what);
	if (!was || was == (uint32_t)what)
		return 0;
	return bm_fail(err, EPERM, "never-both", "make another Bench for it",
		       what == BM_EVER_SECRET
			       ? "the Bench has, or had, egress: it never gets a secret"
			       : "the Bench has, or had, a secret: it never gets egress");
}

int bm_ever_add(struct bm_kernel *kernel, uint64_t cgroup_id, uint32_t more)
{
	volatile uint32_t *ever;
	int r = find(kernel, cgroup_id, &ever);

	if (r == 0)
		__sync_fetch_and_or(ever, more);
	return r;
}
