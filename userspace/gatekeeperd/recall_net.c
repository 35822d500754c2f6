// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/recall.h"

struct frozen {
	struct daemon *d;
	struct bench *bench;
	int (*fn)(void *arg, struct bm_error *err);
	void *arg;
};

static int recall_frozen(void *arg, struct bm_error *err)
{
	struct frozen *f = arg;
	size_t sockets = 0;
	int r = f->fn(f->arg, err);

	if (r == 0)
		r = bm_queued_count(f->d->kernel, f->bench->id, &sockets, err);
	if (r == 0 && sockets)
		recall_begin(f->bench);
	return r;
}

static int carry_through(struct daemon *d, struct bench *bench,
			 int (*fn)(void *arg, struct bm_error *err), void *arg,
			 struct json_object *found, struct bm_error *err)
{
	struct frozen frozen = { d, bench, fn, arg };
	struct bm_error why = {};
	int r;

	if (!bench_alive(bench)) {
		r = recall_end_outlived(bench, found, err);
		return r < 0 ? r : fn(arg, err);
	}
	/* A call that is begun again meets the hooks: so they are there before. */
	r = bm_recall_attach(d->kernel, &why);
	if (r == 0)
		r = recall_while_frozen(bench, recall_frozen, &frozen, &why);
	if (r == 0)
		return 0;
	r = recall_end_all(bench, found, &why, err);
	/* Its sockets, and the last of its way out, may have outlived it. */
	return r < 0 ? r : fn(arg, err);
}

int recall_net(struct daemon *d, struct bench *bench, int (*fn)(void *arg, struct bm_error *err),
	       void *arg, struct json_object *found, struct bm_error *err)
{
	int r;

	recall_patiently(bench);
	r = carry_through(d, bench, fn, arg, found, err);
	bench->cgroup.wait_ms = 0;
	return r;
}
