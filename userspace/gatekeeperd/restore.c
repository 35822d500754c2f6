// SPDX-License-Identifier: GPL-2.0-only
/*
 * After a start: the ledger says what there should be, the kernel what there is. What both have is
 * adopted; nothing is ever added. What the kernel has beyond the ledger is removed, what the ledger
 * has beyond the kernel is ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/step.h"
#include "bench/admit.h"
#include "bench/box.h"
#include "bench/foreign.h"
#include "gatekeeperd/ask.h"
#include "gatekeeperd/barred.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/lifetime.h"
#include "gatekeeperd/recall.h"
#include "gatekeeperd/names.h"
#include "gatekeeperd/nested.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/refresh.h"
#include "gatekeeperd/replay.h"
#include "gatekeeperd/rule_four.h"

/* Some of what it reaches: the rest has been closed, or never came to be open. */
static bool any_there(struct daemon *d, const struct bench *bench, const struct grant *g)
{
	autofree struct grant_dest *list = NULL;
	size_t count = 0;

	if (reach_list(&(struct reach){ g, NULL }, &list, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct bm_dest_key key = bench_dest_key(bench, &list[i].to);

		if (bm_dest_there(d->kernel, &key))
			return true;
	}
	return false;
}

/* A grant whose kernel part is missing or a tombstone: its revocation, or its making, ends here. */
static bool in_force(struct daemon *d, const struct bench *bench, const struct grant *g)
{
	struct bm_grant there;

	if (grant_has_destinations(g))
		return any_there(d, bench, g);
	return bm_grant_get(d->kernel, bench->id, g->object, &there) == 0 && there.rights;
}

/* Somebody took the second layer away: it comes back with what both ledger and kernel have. */
static int remake_nft(const struct bench *bench, const struct bm_nft *nft, struct bm_error *err)
{
	int r;

	daemon_log(LOG_LEVEL_WARNING, "Bench %s: its nftables table%s%s was missing, made anew",
		   bench->name, *nft->link ? " of " : "", nft->link);
	r = bm_nft_setup(nft, err);
	for (const struct grant *g = bench->grants; g && r == 0; g = g->next)
		if (grant_has_destinations(g))
			r = net_open_nft(g, nft, err);
	return r;
}

/* nft elements beyond the ledger: the second layer must not know more than the first. */
static int prune_table(const struct bench *bench, const struct bm_nft *nft, struct bm_error *err)
{
	autofree struct bm_destination *list = NULL;
	size_t count = 0, beyond = 0;
	int r = bm_nft_list(nft, &list, &count, NULL);

	if (r == -ENOENT)
		return remake_nft(bench, nft, err);
	if (r < 0)
		return bm_fail_errno(err, -r, "nft of Bench %s", bench->name);
	for (size_t i = 0; i < count; i++)
		if (!bench_reaches(bench, &list[i]))
			list[beyond++] = list[i];
	return bm_nft_remove(nft, list, beyond, err);
}

static int prune_nft(const struct bench *bench, struct bm_error *err)
{
	struct bm_nft nft;
	int r = 0;

	if (bench_link_nft(bench, &nft))
		r = prune_table(bench, &nft, err);
	if (r < 0)
		return r;
	return bench_nft(bench, &nft) ? prune_table(bench, &nft, err)
				      : bm_fail_errno(err, ESRCH, "nft of Bench %s", bench->name);
}

static int adopt_bench(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	struct grant *next;
	int r = 0;

	bench->walled = true;
	names_find(bench);
	r = rule_four_adopt(d, bench, err);
	for (struct grant *g = bench->grants; g && r == 0; g = next) {
		next = g->next;
		bench->linked |= grant_has_way(g);
		if (!in_force(d, bench, g))
			r = grant_revoke(d, bench, g, NULL, err);
		else if (g->kind == GRANT_BROKER)
			broker_adopt(d, bench, g);
		else if (g->next_hosts.count)
			r = net_refresh_end(d, bench, g, err);
	}
	STEP(RESTORE_GRANTS);
	if (r == 0)
		r = nested_adopt(d, bench, err);
	STEP(RESTORE_NESTED);
	if (r == 0 && !bench->recalling)
		barred_bury(d, bench);
	if (r == 0)
		r = names_update(d, bench, NULL, err);
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

/* A runtime that was still to pivot there when the last daemon ended may not have done it yet. */
static bool has_root(const struct bench *bench)
{
	struct stat hosts, found;

	return stat(BM_HOST_VIEW "/", &hosts) == 0 && fstat(bench->target.root, &found) == 0 &&
	       (hosts.st_dev != found.st_dev || hosts.st_ino != found.st_ino);
}

static bool cgroup_taken(struct daemon *d, const struct bench *bench)
{
	for (const struct bench *b = d->model.benches; b; b = b->next)
		if (b != bench && !strcmp(b->cgroup.path, bench->cgroup.path))
			return true;
	return false;
}

/*
 * Which table it may have, the ledger does not say yet: that is decided again. Where nothing can be
 * asked any more, the one place that outlives its container is the host's own network.
 */
static void find_half_made_nft(struct daemon *d, struct bench *bench)
{
	bool held = bench_hold(d, bench, NULL, NULL) == 0 &&
		    bm_namespaces_shared(&bench->target, &bench->cgroup, &bench->shared, NULL) == 0;

	if (!held)
		bench->shared = 1u << BM_NS_NET;
	bench->net = held ? fcntl(bench->target.ns[BM_NS_NET], F_DUPFD_CLOEXEC, 0)
			  : open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	bench->walled = true;
}

/* Begun and not finished: undone, but for a container that is another Bench's. */
static int end_half_made(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	if (bench->origin == ORIGIN_ATTACHED && !cgroup_taken(d, bench)) {
		find_half_made_nft(d, bench);
		return end_lost(d, bench, "half-made", err);
	}
	/* Not thawed and not let go: that would be the other's. */
	if (bench->origin == ORIGIN_ATTACHED)
		bm_cgroup_close(&bench->cgroup);
	return end_lost(d, bench, "half-made", err);
}

static int any(void *ctx, pid_t pid)
{
	(void)ctx, (void)pid;
	return 1;
}

/* In a pid namespace that is others' too, the end of its init is not the end of the rest. */
static bool outlives_init(const struct bench *bench)
{
	return bench->shared & 1u << BM_NS_PID && bm_cgroup_each(&bench->cgroup, any, NULL) > 0;
}

static const char *remedy_of(const struct bench *bench)
{
	return bench->origin == ORIGIN_CREATED ? "look who did that, and `benchmon destroy` it"
					       : "look who did that, and `benchmon detach` it";
}

static int restore_bench(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	char path[BM_CGROUP_PATH];
	bool there;
	int r;

	snprintf(path, sizeof(path), "%s", bench->cgroup.path);
	there = path[0] && bm_cgroup_open(path, &bench->cgroup, NULL) == 0;
	/* A thaw that the ledger has not: what stands still below for a moment stays so after it.
	 */
	if (there && bench->frozen)
		bm_cgroup_stays(&bench->cgroup);
	if (bench->state == BENCH_MAKING)
		return end_half_made(d, bench, err);
	bench_net_find(bench);
	if (there && pid_start_time(bench->pid) != bench->pid_start && outlives_init(bench))
		return bm_fail(err, ESRCH, "pins", "end them, and detach it",
			       "the init of its container has gone, and others of it run");
	if (!there || pid_start_time(bench->pid) != bench->pid_start)
		return end_lost(d, bench, "its container has gone", err);
	r = bench_hold(d, bench, NULL, err);
	if (r == 0 && (!same_namespaces(bench) || !has_root(bench)))
		return bm_fail(err, EPERM, "pins", remedy_of(bench),
			       "its namespaces, or its root, are not what they were");
	if (r == 0)
		r = bm_bench_check(d->kernel, bench->id, bench->cgroup.id, bench_flags(bench), err);
	if (r == 0)
		return adopt_bench(d, bench, err);
	/* One of all Benches, and not all programs: what ends it is another thing. */
	snprintf(err->remedy, sizeof(err->remedy), "%s", remedy_of(bench));
	return r;
}

/* Begun, and not in the ledger: finished, for nobody can have been told that it was not. */
static void finish_freeze(struct daemon *d, struct bench *bench)
{
	struct json_object *fields = json_object_new_object();
	struct bm_error err = {};

	bm_json_add_string(fields, "reason", "begun before the last end");
	bench->frozen = true;
	if (bench_record(d, bench, "freeze", fields, &err) < 0)
		daemon_log_error("record that a Bench is frozen", &err);
	else
		bm_cgroup_stopped(&bench->cgroup);
}

/* As an operator left it, and not as a daemon did that was killed while it looked. */
static int keep_still(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	bool begun, forgotten;

	if (bench->cgroup.fd < 0)
		return 0;
	begun = bm_cgroup_stopping(&bench->cgroup);
	forgotten = bm_cgroup_forgotten(&bench->cgroup);
	if (bench->frozen && begun)
		bm_cgroup_stopped(&bench->cgroup);
	else if (begun && !forgotten)
		finish_freeze(d, bench);
	if (bench->frozen)
		return bm_cgroup_freeze(&bench->cgroup, true, err);
	return forgotten ? bm_cgroup_resume(&bench->cgroup, false, err) : 0;
}

/*
 * One Bench that can't be restored must not keep the others from being governed: it is frozen, said
 * to be broken, and waits to be ended.
 */
static void restore_or_break(struct daemon *d, struct bench *bench)
{
	uint32_t id = bench->id;
	struct bm_error err = {};
	bool was;

	if (restore_bench(d, bench, &err) == 0) {
		bench = model_find_id(&d->model, id);
		if (!bench || keep_still(d, bench, &err) == 0)
			return;
	}
	daemon_log_error("restore a Bench", &err);
	bench = model_find_id(&d->model, id);
	if (!bench)
		return;
	bench->state = BENCH_BROKEN;
	/* Until it is ended, or a daemon finds it whole. */
	if (bench->cgroup.fd >= 0)
		bm_cgroup_pause(&bench->cgroup, &was, NULL);
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

	STEP(RESTORE_REPLAYED);
	if (r == 0)
		r = bm_tables_prune(d->kernel, 0, &keep, &dropped);
	STEP(RESTORE_PRUNED);
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
	bm_seek_forget(d->kernel);
	d->restoring = true;
	for (struct bench *b = d->model.benches; b; b = next) {
		next = b->next;
		restore_or_break(d, b);
		STEP(RESTORE_ONE);
	}
	d->restoring = false;
	recall_review(d);
	lifetime_review(d);
	asks_review(d);
	STEP(RESTORE_REVIEWED);
	if (sweep(d, &swept) < 0 || nested_sweep(d, &swept) < 0)
		daemon_log_error("remove what ended Benches left", &swept);
	return 0;
}
