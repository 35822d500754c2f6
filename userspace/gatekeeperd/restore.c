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
#include "gatekeeperd/barred.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/recall.h"
#include "gatekeeperd/nested.h"
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

static bool granted(const struct bench *bench, const struct bm_destination *destination)
{
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (g->kind == GRANT_NET && bm_destination_equal(&g->destination, destination))
			return true;
	return false;
}

/* Somebody took the second layer away: it comes back with what both ledger and kernel have. */
static int remake_nft(const struct bench *bench, int netns, struct bm_error *err)
{
	int r;

	daemon_log(LOG_LEVEL_WARNING, "Bench %s: table inet benchmon was missing, made anew",
		   bench->name);
	r = bm_nft_setup(netns, err);
	for (const struct grant *g = bench->grants; g && r == 0; g = g->next)
		if (g->kind == GRANT_NET)
			r = bm_nft_add(netns, &g->destination, err);
	return r;
}

/* nft elements beyond the ledger: the second layer must not know more than the first. */
static int prune_nft(const struct bench *bench, struct bm_error *err)
{
	autofree struct bm_destination *list = NULL;
	int netns = bench->target.ns[BM_NS_NET];
	size_t count = 0;
	int r = bm_nft_list(netns, &list, &count, NULL);

	if (r == -ENOENT)
		return remake_nft(bench, netns, err);
	if (r < 0)
		return bm_fail_errno(err, -r, "nft of Bench %s", bench->name);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (!granted(bench, &list[i]))
			r = bm_nft_remove(netns, &list[i], err);
	return r;
}

static int adopt_bench(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	struct grant *next;
	int r = 0;

	bench->walled = true;
	for (struct grant *g = bench->grants; g && r == 0; g = next) {
		next = g->next;
		bench->linked |= g->kind == GRANT_NET;
		if (!in_force(d, bench, g))
			r = grant_revoke(d, bench, g, NULL, err);
	}
	if (r == 0)
		r = nested_adopt(d, bench, err);
	if (r == 0 && !bench->recalling)
		barred_bury(d, bench);
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

/* Its network and mounts are those that were looked at when it was attached. */
static bool same_namespaces(const struct bench *bench)
{
	return !memcmp(bench->namespaces, bench->target.inode, sizeof(bench->namespaces));
}

static bool cgroup_taken(struct daemon *d, const struct bench *bench)
{
	for (const struct bench *b = d->model.benches; b; b = b->next)
		if (b != bench && !strcmp(b->cgroup.path, bench->cgroup.path))
			return true;
	return false;
}

/* Begun and not finished: undone, but for a container that is another Bench's. */
static int end_half_made(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	if (bench->origin == ORIGIN_ATTACHED && !cgroup_taken(d, bench)) {
		if (bench_hold(d, bench, NULL) == 0)
			bench->walled = true;
		return end_lost(d, bench, "half-made", err);
	}
	/* Not thawed and not let go: that would be the other's. */
	if (bench->origin == ORIGIN_ATTACHED)
		bm_cgroup_close(&bench->cgroup);
	return end_lost(d, bench, "half-made", err);
}

static int restore_bench(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	char path[BM_CGROUP_PATH];
	bool there;

	snprintf(path, sizeof(path), "%s", bench->cgroup.path);
	there = path[0] && bm_cgroup_open(path, &bench->cgroup, NULL) == 0;
	if (bench->state == BENCH_MAKING)
		return end_half_made(d, bench, err);
	if (!there || pid_start_time(bench->pid) != bench->pid_start)
		return end_lost(d, bench, "its container has gone", err);
	if (bench_hold(d, bench, err) == 0 && same_namespaces(bench) &&
	    bm_bench_whole(d->kernel, bench->id, bench->cgroup.id, bench_flags(bench)))
		return adopt_bench(d, bench, err);
	if (bench->origin == ORIGIN_CREATED)
		return end_lost(d, bench, "its enforcement was tampered with", err);
	return bm_fail(err, EPERM, "pins", "detach it, and look who did that",
		       "parts of its enforcement, or its namespaces, are not what they were");
}

/*
 * One Bench that can't be restored must not keep the others from being governed: it is frozen, said
 * to be broken, and waits to be ended.
 */
static void restore_or_break(struct daemon *d, struct bench *bench)
{
	uint32_t id = bench->id;
	struct bm_error err = {};

	if (restore_bench(d, bench, &err) == 0)
		return;
	daemon_log_error("restore a Bench", &err);
	bench = model_find_id(&d->model, id);
	if (!bench)
		return;
	bench->state = BENCH_BROKEN;
	if (bench->cgroup.fd >= 0)
		bm_cgroup_freeze(&bench->cgroup, true, NULL);
	daemon_log(LOG_LEVEL_ERROR, "Bench %s is broken and frozen", bench->name);
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
	struct bm_error swept = {};
	struct bench *next;
	size_t dropped = 0;
	int r = replay_ledger(d, err);

	if (r == 0)
		r = bm_tables_prune(d->kernel, 0, &keep, &dropped);
	if (dropped)
		daemon_log(LOG_LEVEL_WARNING,
			   "%zu entries in the kernel that the ledger has not: removed", dropped);
	if (r < 0)
		return r;
	/* Whether something is still held is looked at anew. */
	for (struct bench *b = d->model.benches; b; b = b->next) {
		b->recalling = bm_recall_attached(d->kernel);
		if (!b->recalling)
			bench_forget_revoked(b);
	}
	d->restoring = true;
	for (struct bench *b = d->model.benches; b; b = next) {
		next = b->next;
		restore_or_break(d, b);
	}
	d->restoring = false;
	recall_review(d);
	if (sweep(d, &swept) < 0 || nested_sweep(d, &swept) < 0)
		daemon_log_error("remove what ended Benches left", &swept);
	return 0;
}
