// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/unload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "bench/box.h"
#include "bench/door.h"
#include "bench/pin.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/record.h"
#include "gatekeeperd/replay.h"
#include "network/link.h"

static int open_cgroup(struct bench *bench)
{
	char path[BM_CGROUP_PATH];

	snprintf(path, sizeof(path), "%s", bench->cgroup.path);
	return path[0] ? bm_cgroup_open(path, &bench->cgroup, NULL) : -ENOENT;
}

void freeze_all(struct daemon *d)
{
	struct bm_error err = {};

	if (replay_ledger(d, &err) < 0) {
		daemon_log_error("freeze every Bench", &err);
		return;
	}
	for (struct bench *b = d->model.benches; b; b = b->next) {
		bool was;

		if (open_cgroup(b) < 0)
			continue;
		/* For as long as that is so: a daemon that finds all whole lets it go on. */
		bm_cgroup_pause(&b->cgroup, &was, NULL);
		daemon_log(LOG_LEVEL_ERROR, "Bench %s is frozen: its enforcement is incomplete",
			   b->name);
	}
}

static int kill_all(struct daemon *d, struct bm_error *err)
{
	int r = replay_ledger(d, err);

	for (struct bench *b = d->model.benches; r == 0 && b; b = b->next) {
		struct json_object *fields = json_object_new_object();

		if (open_cgroup(b) == 0)
			r = bm_cgroup_kill(&b->cgroup, err);
		/* A network that is others' too does not end with it. */
		bench_net_find(b);
		if (r == 0)
			r = bench_nft_end(b, err);
		/* With the last link goes what it changed on the host. */
		if (r == 0)
			r = bm_link_destroy(b->id, err);
		if (r == 0 && b->origin == ORIGIN_CREATED)
			r = bm_box_destroy(b->name, err);
		bm_json_add_string(fields, "reason", "unloaded");
		if (r == 0)
			r = bench_record(d, b, b->origin == ORIGIN_CREATED ? "destroy" : "detach",
					 fields, err);
		else
			json_object_put(fields);
	}
	return r;
}

static bool none(void *ctx, uint32_t bench)
{
	(void)ctx, (void)bench;
	return false;
}

int unload_main(bool force)
{
	struct daemon d = { .state_dir = -1, .log_dir = -1, .epoll = -1 };
	struct bm_error err = {};
	int r = sodium_init() < 0 ? -EIO : 0;

	/* Under the ledger's lock, so that no daemon adopts what is being removed. */
	d.state_dir = open(BM_LEDGER_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r == 0 && d.state_dir >= 0)
		r = ledger_open(&d, &err);
	if (r == 0 && force && d.ledger)
		r = kill_all(&d, &err);
	if (r == 0)
		r = bm_kernel_unload(force, &err);
	if (r == 0)
		r = bm_doors_sweep(none, NULL, &err);
	if (r == 0)
		r = bm_pins_end(&err);
	if (r == 0)
		r = bm_box_remove_gone(&err);
	while (d.model.benches)
		model_remove(&d.model, d.model.benches);
	bm_ledger_close(d.ledger);
	bm_close(d.state_dir);
	if (r < 0)
		daemon_log_error("unload", &err);
	return r < 0 ? 1 : 0;
}
