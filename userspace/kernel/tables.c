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

static int grants_full(struct bm_error *err)
{
	return bm_fail(err, ENOSPC, "grants", "revoke what is not needed",
		       "the kernel's table of %d grants is full", BM_MAX_GRANTS);
}

int bm_grants_room(const struct bm_kernel *kernel, size_t more, struct bm_error *err)
{
	return kernel->grants + more > BM_MAX_GRANTS ? grants_full(err) : 0;
}

int bm_grant_put(struct bm_kernel *kernel, uint32_t bench, uint64_t object,
		 const struct bm_grant *grant, struct bm_error *err)
{
	struct bm_grant_key key = { .bench = bench, .object = object };
	int r = bpf_map_update_elem(kernel->map.grants, &key, grant, BPF_EXIST);

	if (r == -ENOENT) {
		r = bpf_map_update_elem(kernel->map.grants, &key, grant, BPF_NOEXIST);
		kernel->grants += r == 0;
	}
	if (r == -E2BIG)
		return grants_full(err);
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

	kernel->grants -= r == 0 && kernel->grants;
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

/* More than hang on one of a table's heads, or the kernel gives none of them. */
#define BATCH 1024

/*
 * A whole table in a few calls: it has the entries of all Benches, and each one's end looks through
 * it. A batch ends where one of the table's heads does, so what is dropped meanwhile moves nothing.
 */
static int prune(int map, size_t key_size, size_t value_size,
		 bool (*keep)(void *ctx, const void *key, const void *value), void *ctx,
		 size_t *ret_kept, size_t *dropped)
{
	autofree char *keys = calloc(BATCH, key_size), *values = calloc(BATCH, value_size);
	uint32_t at, next, count;
	void *from = NULL;
	size_t kept = 0;
	int r = 0;

	if (!keys || !values)
		return -ENOMEM;
	while (r == 0) {
		count = BATCH;
		r = bpf_map_lookup_batch(map, from, &next, keys, values, &count, NULL);
		if (r < 0 && r != -ENOENT)
			return r;
		for (uint32_t i = 0; i < count; i++) {
			int gone;

			if (keep(ctx, keys + i * key_size, values + i * value_size)) {
				kept++;
				continue;
			}
			gone = bpf_map_delete_elem(map, keys + i * key_size);
			if (gone < 0 && gone != -ENOENT)
				return gone;
			(*dropped)++;
		}
		at = next;
		from = &at;
	}
	*ret_kept = kept;
	return 0;
}

struct prune_ctx {
	uint32_t bench;
	const struct bm_keep *keep;
};

static bool keep_grant(void *arg, const void *key, const void *value)
{
	const struct bm_grant_key *k = key;
	struct prune_ctx *ctx = arg;

	if (ctx->bench && k->bench != ctx->bench)
		return true;
	return ctx->keep && (!ctx->keep->grant || ctx->keep->grant(ctx->keep->ctx, k, value));
}

static bool keep_dest(void *arg, const void *key, const void *value)
{
	const struct bm_dest_key *k = key;
	struct prune_ctx *ctx = arg;

	if (ctx->bench && k->bench != ctx->bench)
		return true;
	return ctx->keep && (!ctx->keep->dest || ctx->keep->dest(ctx->keep->ctx, k, value));
}

static bool keep_except(void *arg, const void *key, const void *value)
{
	const struct bm_except_key *k = key;
	struct prune_ctx *ctx = arg;

	if (ctx->bench && k->bench != ctx->bench)
		return true;
	return ctx->keep && (!ctx->keep->except || ctx->keep->except(ctx->keep->ctx, k, value));
}

/* What a Bench has used is told of once in its life: forgotten with it alone. */
static bool keep_use(void *arg, const void *key, const void *value)
{
	const struct bm_use_key *k = key;
	struct prune_ctx *ctx = arg;

	(void)value;
	return ctx->keep || (ctx->bench && k->bench != ctx->bench);
}

int bm_tables_prune(struct bm_kernel *kernel, uint32_t bench, const struct bm_keep *keep,
		    size_t *ret_dropped)
{
	struct prune_ctx ctx = { bench, keep };
	size_t dropped = 0, told = 0, others;
	int r = prune(kernel->map.grants, sizeof(struct bm_grant_key), sizeof(struct bm_grant),
		      keep_grant, &ctx, &kernel->grants, &dropped);

	if (r == 0)
		r = prune(kernel->map.destinations, sizeof(struct bm_dest_key),
			  sizeof(struct bm_dest), keep_dest, &ctx, &others, &dropped);
	/* After the grants: without an exception its grant would be more. */
	if (r == 0)
		r = prune(kernel->map.excepts, sizeof(struct bm_except_key),
			  sizeof(struct bm_except), keep_except, &ctx, &others, &dropped);
	if (r == 0)
		r = prune(kernel->map.uses, sizeof(struct bm_use_key), sizeof(uint32_t), keep_use,
			  &ctx, &others, &told);
	if (r == 0 && ret_dropped)
		*ret_dropped = dropped;
	return r;
}

int bm_kernel_settle(void)
{
	/* Programs run under rcu_read_lock; this is synchronize_rcu for user space. */
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0 ? -errno : 0;
}
