// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/search.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"
#include "gatekeeperd/recall.h"

#define MS_NS 1000000ull

struct context {
	struct daemon *d;
	const struct bench *bench;
};

static bool carried(void *ctx, uint64_t device, uint64_t inode)
{
	const struct context *in = ctx;

	return bm_carried(in->d->kernel, in->bench->id, device, inode);
}

static bool arrives(void *ctx, int pidfd)
{
	const struct context *in = ctx;

	return bm_arrives(in->d->kernel, in->bench->id, pidfd);
}

/* Else a client would not be hung up on, nor another Bench's mounts go, before this has ended. */
static void apart(void *ctx)
{
	const struct context *in = ctx;

	for (struct connection *c = in->d->connections; c; c = c->next) {
		bm_close(c->watch.fd);
		bm_close(c->pidfd);
		bm_close(c->pending.fd);
		bm_close(c->pending.tree);
	}
	for (struct bench *b = in->d->model.benches; b; b = b->next) {
		if (b == in->bench)
			continue;
		bm_cgroup_close(&b->cgroup);
		bm_target_close(&b->target);
		bm_close(b->net);
		bm_close(b->maps.userns);
	}
}

static struct bm_held_scan scan_of(struct context *ctx, const struct bm_held_object *object,
				   const struct bm_foreign_list *foreign)
{
	return (struct bm_held_scan){ .cgroup = &ctx->bench->cgroup,
				      .target = &ctx->bench->target,
				      .object = object ? *object
						       : (struct bm_held_object){ .fd = -1 },
				      .foreign = foreign,
				      .carried = carried,
				      .arrives = arrives,
				      .ctx = ctx };
}

int search_now(struct daemon *d, const struct bench *bench, const struct bm_held_object *object,
	       const struct bm_foreign_list *foreign, struct bm_held_list *ret,
	       struct bm_error *err)
{
	struct context ctx = { d, bench };
	struct bm_held_scan scan = scan_of(&ctx, object, foreign);

	return bm_held_find(&scan, ret, err);
}

static void on_answer(struct daemon *d, struct watch *w, uint32_t events)
{
	struct search *s = (struct search *)w;
	const struct bench *bench = model_find_id(&d->model, s->bench);

	(void)events;
	daemon_unwatch(d, w);
	w->fd = -1;
	s->answered = true;
	s->result = bm_held_finish(&s->helper, &bench->cgroup, &s->found, &s->err);
	if (s->late) {
		s->err = (struct bm_error){};
		s->result =
			bm_fail(&s->err, ETIMEDOUT, "recall", NULL,
				"what it holds was not found out within %d s", BM_HELD_MS / 1000);
	}
	d->searched = true;
	STEP(SEARCH_ANSWERED);
}

int search_begin(struct daemon *d, struct bench *bench, enum search_why why, uint32_t grant,
		 const struct bm_held_object *object, struct bm_error *err)
{
	struct search *s = calloc(1, sizeof(*s));
	struct context ctx = { d, bench };
	struct bm_held_scan scan = scan_of(&ctx, object, NULL);
	int r;

	if (!s)
		return bm_fail_errno(err, ENOMEM, "look for what Bench %s holds", bench->name);
	scan.apart = apart;
	*s = (struct search){ .helper.socket = -1,
			      .why = why,
			      .bench = bench->id,
			      .grant = grant,
			      .due_ns = bm_now_ns(CLOCK_BOOTTIME) + BM_HELD_MS * MS_NS };
	r = bm_held_start(&scan, &s->helper, err);
	if (r == 0) {
		s->watch = (struct watch){ .fd = s->helper.socket, .ready = on_answer };
		r = daemon_watch(d, &s->watch, EPOLLIN);
		if (r < 0)
			bm_fail_errno(err, -r, "look for what Bench %s holds", bench->name);
	}
	if (r < 0) {
		bm_held_abandon(&s->helper);
		free(s);
		return r;
	}
	bench->search = s;
	STEP(SEARCH_BEGUN);
	return 0;
}

static void drop(struct daemon *d, struct bench *bench)
{
	struct search *s = bench->search;

	bm_held_done(&s->found);
	s->next = d->searches;
	d->searches = s;
	bench->search = NULL;
	/* Whoever waited for it. */
	d->searched = true;
}

void searches_bury(struct daemon *d)
{
	while (d->searches) {
		struct search *s = d->searches;

		d->searches = s->next;
		free(s);
	}
}

int search_take(struct daemon *d, struct bench *bench, struct bm_held_list *ret,
		struct bm_error *err)
{
	struct search *s = bench->search;
	int r = s->result;

	if (r < 0)
		*err = s->err;
	else
		*ret = s->found;
	s->found = (struct bm_held_list){};
	drop(d, bench);
	return r;
}

void search_abandon(struct daemon *d, struct bench *bench)
{
	struct search *s = bench->search;

	if (!s)
		return;
	if (!s->answered) {
		daemon_unwatch(d, &s->watch);
		s->watch.fd = -1;
		bm_held_abandon(&s->helper);
	}
	drop(d, bench);
	if (s->why == SEARCH_REVIEW_FROZEN)
		recall_resume(bench);
}

uint64_t search_review(struct bench *bench, uint64_t now_ns)
{
	struct search *s = bench->search;

	if (!s || s->answered)
		return 0;
	/* Its socket says so, when it has gone. */
	if (now_ns >= s->due_ns) {
		s->late = true;
		kill(s->helper.pid, SIGKILL);
		return 0;
	}
	return s->due_ns;
}
