// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include <linux/membarrier.h>

int bm_object_get(struct bm_kernel *kernel, int fd, uint64_t *ret_object)
{
	struct bm_object object;
	int r = bpf_map_lookup_elem(kernel->map.objects, &fd, &object);

	if (r < 0)
		return r;
	*ret_object = object.id;
	return 0;
}

int bm_object_mark(struct bm_kernel *kernel, int fd, uint64_t *ret_object, struct bm_error *err)
{
	struct bm_object object;
	int r = bm_object_get(kernel, fd, ret_object);

	if (r == 0)
		return 0;
	if (r != -ENOENT)
		return bm_fail_errno(err, -r, "look for the object");
	object.id = kernel->config->next_object++;
	r = bpf_map_update_elem(kernel->map.objects, &fd, &object, BPF_NOEXIST);
	if (r < 0)
		return bm_fail_errno(err, -r, "mark the object");
	*ret_object = object.id;
	return 0;
}

int bm_grant_put(struct bm_kernel *kernel, uint32_t bench, uint64_t object,
		 const struct bm_grant *grant, struct bm_error *err)
{
	struct bm_grant_key key = { .bench = bench, .object = object };
	int r = bpf_map_update_elem(kernel->map.grants, &key, grant, BPF_ANY);

	if (r == -E2BIG)
		return bm_fail(err, ENOSPC, "grants", "revoke what is not needed",
			       "the kernel's table of %d grants is full", BM_MAX_GRANTS);
	return r < 0 ? bm_fail_errno(err, -r, "grants") : 0;
}

int bm_grant_get(struct bm_kernel *kernel, uint32_t bench, uint64_t object, struct bm_grant *ret)
{
	struct bm_grant_key key = { .bench = bench, .object = object };

	return bpf_map_lookup_elem(kernel->map.grants, &key, ret);
}

int bm_grant_drop(struct bm_kernel *kernel, uint32_t bench, uint64_t object)
{
	struct bm_grant_key key = { .bench = bench, .object = object };
	int r = bpf_map_delete_elem(kernel->map.grants, &key);

	return r == -ENOENT ? 0 : r;
}

int bm_dest_put(struct bm_kernel *kernel, const struct bm_dest_key *key, const struct bm_dest *dest,
		struct bm_error *err)
{
	int r = bpf_map_update_elem(kernel->map.destinations, key, dest, BPF_ANY);

	if (r == -E2BIG)
		return bm_fail(err, ENOSPC, "destinations", "revoke what is not needed",
			       "the kernel's table of %d destinations is full",
			       BM_MAX_DESTINATIONS);
	return r < 0 ? bm_fail_errno(err, -r, "destinations") : 0;
}

int bm_dest_close(struct bm_kernel *kernel, const struct bm_dest_key *key)
{
	struct bm_dest dest = { .closing = 1 };
	int r = bpf_map_update_elem(kernel->map.destinations, key, &dest, BPF_EXIST);

	return r == -ENOENT ? 0 : r;
}

int bm_dest_drop(struct bm_kernel *kernel, const struct bm_dest_key *key)
{
	int r = bpf_map_delete_elem(kernel->map.destinations, key);

	return r == -ENOENT ? 0 : r;
}

bool bm_dest_there(struct bm_kernel *kernel, const struct bm_dest_key *key)
{
	struct bm_dest dest;

	return bpf_map_lookup_elem(kernel->map.destinations, key, &dest) == 0 && !dest.closing;
}

/*
 * get_next_key starts anew when the key it is given is gone, so a key is dropped only after its
 * successor is known.
 */
static int prune(int map, size_t key_size, bool (*keep)(void *ctx, const void *key, int map),
		 void *ctx, size_t *dropped)
{
	char key[sizeof(struct bm_except_key)], next[sizeof(key)];
	int r = bpf_map_get_next_key(map, NULL, key);

	while (r == 0) {
		int more = bpf_map_get_next_key(map, key, next);

		if (!keep(ctx, key, map)) {
			r = bpf_map_delete_elem(map, key);
			if (r < 0 && r != -ENOENT)
				return r;
			(*dropped)++;
		}
		memcpy(key, next, key_size);
		r = more;
	}
	return r == -ENOENT ? 0 : r;
}

struct prune_ctx {
	uint32_t bench;
	const struct bm_keep *keep;
};

static bool keep_grant(void *arg, const void *key, int map)
{
	const struct bm_grant_key *k = key;
	struct prune_ctx *ctx = arg;
	struct bm_grant value;

	if (ctx->bench && k->bench != ctx->bench)
		return true;
	if (!ctx->keep || bpf_map_lookup_elem(map, key, &value) < 0)
		return false;
	return !ctx->keep->grant || ctx->keep->grant(ctx->keep->ctx, k, &value);
}

static bool keep_dest(void *arg, const void *key, int map)
{
	const struct bm_dest_key *k = key;
	struct prune_ctx *ctx = arg;
	struct bm_dest value;

	if (ctx->bench && k->bench != ctx->bench)
		return true;
	if (!ctx->keep || bpf_map_lookup_elem(map, key, &value) < 0)
		return false;
	return !ctx->keep->dest || ctx->keep->dest(ctx->keep->ctx, k, &value);
}

static bool keep_except(void *arg, const void *key, int map)
{
	const struct bm_except_key *k = key;
	struct prune_ctx *ctx = arg;
	struct bm_except value;

	if (ctx->bench && k->bench != ctx->bench)
		return true;
	if (!ctx->keep || bpf_map_lookup_elem(map, key, &value) < 0)
		return false;
	return !ctx->keep->except || ctx->keep->except(ctx->keep->ctx, k, &value);
}

int bm_tables_prune(struct bm_kernel *kernel, uint32_t bench, const struct bm_keep *keep,
		    size_t *ret_dropped)
{
	struct prune_ctx ctx = { bench, keep };
	size_t dropped = 0;
	int r = prune(kernel->map.grants, sizeof(struct bm_grant_key), keep_grant, &ctx, &dropped);

	if (r == 0)
		r = prune(kernel->map.destinations, sizeof(struct bm_dest_key), keep_dest, &ctx,
			  &dropped);
	/* After the grants: without an exception its grant would be more. */
	if (r == 0)
		r = prune(kernel->map.excepts, sizeof(struct bm_except_key), keep_except, &ctx,
			  &dropped);
	if (r == 0 && ret_dropped)
		*ret_dropped = dropped;
	return r;
}

int bm_kernel_settle(void)
{
	/* Programs run under rcu_read_lock; this is synchronize_rcu for user space. */
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0 ? -errno : 0;
}
