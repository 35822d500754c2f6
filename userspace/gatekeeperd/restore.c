// SPDX-License-Identifier: GPL-2.0-only
/*
 * After a start: the ledger says what there should be, the kernel what there is. What both have is
 * adopted; nothing is ever added. What the kernel has beyond the ledger is removed, what the ledger
 * has beyond the kernel is ended.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/box.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/replay.h"
#include "network/link.h"
#include "network/nft.h"

/* A grant whose kernel part is missing or a tombstone: its revocation, or its making, ends here. */
static bool in_force(struct daemon *d, const struct bench *bench, const struct grant *g)
{
	struct bm_grant there;

	struct bm_dest_key key;

	if (g->kind == GRANT_NET) {
		key = grant_dest_key(bench, g);
		return bm_dest_there(d->kernel, &key);
	}
	return bm_grant_get(d->kernel, bench->id, g->object, &there) == 0 && there.rights;
}

/* nft elements beyond the ledger: the second layer must not know more than the first. */
static int prune_nft(struct bench *bench, struct bm_error *err)
{
	autofree struct bm_destination *list = NULL;
	autoclose netns = -1;
	size_t count = 0;
	int r = bench_netns(bench, &netns, err);

	if (r == 0)
		r = bm_nft_list(netns, &list, &count, err);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct grant *g = bench->grants;

		while (g &&
		       (g->kind != GRANT_NET || memcmp(&g->destination, &list[i], sizeof(list[i]))))
			g = g->next;
		if (!g)
			r = bm_nft_remove(netns, &list[i], err);
	}
	return r;
}

static int adopt_bench(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	struct grant *next;
	int r = 0;

	for (struct grant *g = bench->grants; g && r == 0; g = next) {
		next = g->next;
		bench->linked |= g->kind == GRANT_NET;
		if (!in_force(d, bench, g))
			r = grant_revoke(d, bench, g, err);
	}
	return r == 0 ? prune_nft(bench, err) : r;
}

static int end_lost(struct daemon *d, struct bench *bench, const char *reason, struct bm_error *err)
{
	struct json_object *fields = json_object_new_object();

	daemon_log(LOG_LEVEL_WARNING, "Bench %s: %s", bench->name, reason);
	bm_json_add_string(fields, "reason", reason);
	bench->state = BENCH_BROKEN;
	bench->linked = true; /* perhaps; removing what is not there is no error */
	return bench_end(d, bench, bench->origin == ORIGIN_CREATED ? "destroy" : "detach", fields,
			 err);
}

static int restore_bench(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	char path[BM_CGROUP_PATH];
	bool there;

	snprintf(path, sizeof(path), "%s", bench->cgroup.path);
	there = path[0] && bm_cgroup_open(path, &bench->cgroup, NULL) == 0;
	if (bench->state == BENCH_MAKING) {
		/* Frozen half-way, perhaps, and not ours to keep frozen. */
		if (there && bench->origin == ORIGIN_ATTACHED)
			bm_cgroup_freeze(&bench->cgroup, false, NULL);
		return end_lost(d, bench, "half-made", err);
	}
	if (!there || !bench_alive(bench))
		return end_lost(d, bench, "its container has gone", err);
	if (bm_bench_whole(d->kernel, bench->id, bench->cgroup.id))
		return adopt_bench(d, bench, err);
	if (bench->origin == ORIGIN_CREATED)
		return end_lost(d, bench, "its enforcement was tampered with", err);
	/* Not ours to kill, and not to run unwalled either. */
	daemon_log(LOG_LEVEL_ERROR, "Bench %s: enforcement is missing, frozen; detach it",
		   bench->name);
	bench->state = BENCH_BROKEN;
	return bm_cgroup_freeze(&bench->cgroup, true, err);
}

static int sweep(struct daemon *d, struct bm_error *err)
{
	autofree const char **names = NULL;
	size_t count = 0;

	for (const struct bench *b = d->model.benches; b; b = b->next)
		count++;
	names = calloc(count + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	count = 0;
	for (const struct bench *b = d->model.benches; b; b = b->next)
		names[count++] = b->name;
	return bm_box_sweep(names, err);
}

int daemon_restore(struct daemon *d, struct bm_error *err)
{
	struct bm_keep keep = replay_keep(&d->model);
	struct bench *next;
	size_t dropped = 0;
	int r = replay_ledger(d, err);

	if (r == 0)
		r = bm_tables_prune(d->kernel, 0, &keep, &dropped);
	if (dropped)
		daemon_log(LOG_LEVEL_WARNING,
			   "%zu entries in the kernel that the ledger has not: removed", dropped);
	for (struct bench *b = d->model.benches; b && r == 0; b = next) {
		next = b->next;
		r = restore_bench(d, b, err);
	}
	return r == 0 ? sweep(d, err) : r;
}
