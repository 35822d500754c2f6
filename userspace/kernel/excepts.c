// SPDX-License-Identifier: GPL-2.0-only
/* What makes the nearest decide: the Bench's flag, and the names that are excepted. */
#include "kernel/internal.h"

#include <errno.h>
#include <string.h>

int bm_bench_nest(struct bm_kernel *kernel, uint64_t cgroup_id, struct bm_error *err)
{
	struct bm_bench bench;
	int r = bpf_map_lookup_elem(kernel->map.benches, &cgroup_id, &bench);

	if (r == 0 && bench.flags & BM_BENCH_NESTED)
		return 0;
	bench.flags |= BM_BENCH_NESTED;
	if (r == 0)
		r = bpf_map_update_elem(kernel->map.benches, &cgroup_id, &bench,
					BPF_EXIST | BPF_F_LOCK);
	/* A program that read the old flags could still decide by what is put in next. */
	if (r == 0)
		r = bm_kernel_settle();
	return r < 0 ? bm_fail_errno(err, -r, "benches") : 0;
}

static int key_of(uint32_t bench, uint64_t object, const char *name, struct bm_except_key *ret)
{
	size_t len = strlen(name);

	if (!len || len > BM_EXCEPT_NAME_MAX)
		return -EINVAL;
	*ret = (struct bm_except_key){ .bench = bench, .object = object };
	memcpy(ret->name, name, len);
	return 0;
}

int bm_except_put(struct bm_kernel *kernel, uint32_t bench, uint64_t object, const char *name,
		  const struct bm_except *except, struct bm_error *err)
{
	struct bm_except_key key;
	int r = key_of(bench, object, name, &key);

	if (r == 0)
		r = bpf_map_update_elem(kernel->map.excepts, &key, except, BPF_ANY);
	if (r == -E2BIG)
		return bm_fail(err, ENOSPC, "except", "revoke what is not needed",
			       "the kernel's table of %d exceptions is full", BM_MAX_EXCEPTS);
	return r < 0 ? bm_fail_errno(err, -r, "exceptions") : 0;
}

int bm_except_drop(struct bm_kernel *kernel, uint32_t bench, uint64_t object, const char *name)
{
	struct bm_except_key key;
	int r = key_of(bench, object, name, &key);

	if (r == 0)
		r = bpf_map_delete_elem(kernel->map.excepts, &key);
	return r == -ENOENT ? 0 : r;
}

int bm_except_get(struct bm_kernel *kernel, uint32_t bench, uint64_t object, const char *name,
		  struct bm_except *ret)
{
	struct bm_except_key key;
	int r = key_of(bench, object, name, &key);

	return r < 0 ? r : bpf_map_lookup_elem(kernel->map.excepts, &key, ret);
}
