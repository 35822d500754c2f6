// SPDX-License-Identifier: GPL-2.0-only
/*
 * After a start: the ledger says what there should be, the kernel what there is. What both have is
 * adopted; nothing is ever added. What the kernel has beyond the ledger is removed, what the ledger
 * has beyond the kernel is ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/box.h"
#include "gatekeeperd/lifecycle.h"
#include "network/link.h"
#include "network/nft.h"

static int bad_line(uint64_t n, const char *event, struct bm_error *err)
{
	return bm_fail(err, EBADMSG, "ledger", NULL,
		       "ledger line %" PRIu64 ": \"%s\" makes no sense", n, event);
}

static void take_place(struct bench *bench, struct json_object *json)
{
	const char *cgroup = bm_json_string(json, "cgroup");
	int64_t pid = 0, start = 0;

	bm_json_int(json, "pid", &pid);
	bm_json_int(json, "pid_start", &start);
	bench->pid = (pid_t)pid;
	bench->pid_start = (uint64_t)start;
	if (cgroup)
		snprintf(bench->cgroup.path, sizeof(bench->cgroup.path), "%s", cgroup);
}

static int replay_begin(struct daemon *d, struct json_object *json, const char *name, uint32_t id)
{
	const char *container = bm_json_string(json, "container");
	const char *created = bm_json_string(json, "created");
	struct bench *bench;
	int64_t slot = 0;

	if (model_find(&d->model, name))
		return -EBADMSG;
	bench = model_add(&d->model, name, id);
	if (!bench)
		return -ENOMEM;
	bm_json_int(json, "slot", &slot);
	bench->slot = (uint32_t)slot;
	snprintf(bench->container, sizeof(bench->container), "%s", container ?: "");
	snprintf(bench->created, sizeof(bench->created), "%s", created ?: "");
	take_place(bench, json);
	return bench_origin_parse(bm_json_string(json, "origin"), &bench->origin);
}

static int replay_grant(struct bench *bench, struct json_object *json)
{
	struct grant *grant;
	int r = grant_from_json(json, &grant);

	if (r == 0)
		bench_add_grant(bench, grant);
	return r;
}

static int replay_revoke(struct bench *bench, struct json_object *json)
{
	struct grant *grant;
	int64_t number;

	if (bm_json_int(json, "grant", &number) < 0)
		return -EBADMSG;
	if (number > bench->last_grant)
		bench->last_grant = (uint32_t)number;
	grant = bench_grant(bench, (uint32_t)number);
	if (grant)
		bench_remove_grant(bench, grant);
	return 0;
}

static int replay(void *ctx, uint64_t n, const char *event, struct json_object *json,
		  struct bm_error *err)
{
	const char *name = bm_json_string(json, "bench");
	struct daemon *d = ctx;
	struct bench *bench;
	int64_t id;
	int r = 0;

	if (!name)
		return 0; /* about no Bench */
	if (!bm_bench_name_valid(name) || bm_json_int(json, "bench_id", &id) < 0 || id <= 0 ||
	    id > UINT32_MAX)
		return bad_line(n, event, err);
	if (!strcmp(event, "create") || !strcmp(event, "attach")) {
		r = replay_begin(d, json, name, (uint32_t)id);
		return r < 0 ? bad_line(n, event, err) : 0;
	}
	bench = model_find_id(&d->model, (uint32_t)id);
	if (!bench)
		return bad_line(n, event, err);
	if (!strcmp(event, "ready")) {
		take_place(bench, json);
		bench->state = BENCH_READY;
	} else if (!strcmp(event, "grant")) {
		r = replay_grant(bench, json);
	} else if (!strcmp(event, "revoke")) {
		r = replay_revoke(bench, json);
	} else if (!strcmp(event, "destroy") || !strcmp(event, "detach")) {
		model_remove(&d->model, bench);
	}
	return r < 0 ? bad_line(n, event, err) : 0;
}

static bool keep_grant(void *ctx, const struct bm_grant_key *key, const struct bm_grant *value)
{
	struct bench *bench = model_find_id(ctx, key->bench);
	struct grant *grant;

	/* Own objects are the walls' inside; of a Bench that the ledger lost they go too. */
	if (!bench)
		return false;
	if (!value->grant)
		return true;
	grant = bench_grant(bench, value->grant);
	return grant && grant->kind == GRANT_FILE && grant->object == key->object &&
	       !(value->rights & ~(uint32_t)(BM_R | (grant->writable ? BM_W : 0)));
}

static bool keep_dest(void *ctx, const struct bm_dest_key *key, const struct bm_dest *value)
{
	struct bench *bench = model_find_id(ctx, key->bench);
	struct grant *grant = bench ? bench_grant(bench, value->grant) : NULL;

	struct bm_dest_key theirs;

	if (!grant || grant->kind != GRANT_NET)
		return false;
	theirs = grant_dest_key(bench, grant);
	return !memcmp(&theirs, key, sizeof(*key));
}

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
	struct bm_keep keep = { keep_grant, keep_dest, &d->model };
	struct bench *next;
	size_t dropped = 0;
	int r = bm_ledger_replay(d->ledger, replay, d, err);

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
