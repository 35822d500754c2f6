// SPDX-License-Identifier: GPL-2.0-only
/* freeze, the panic button, and thaw: what takes away goes before the ledger, what gives after. */
#include "gatekeeperd/freeze.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/search.h"

#define WAIT_S 10
#define SECOND_NS 1000000000ull

/* A request whose Bench does not stand still yet. */
struct freezing {
	struct watch
		watch; /* first: a watch is cast to its freezing. cgroup.events of what moves */
	struct freezing *next;
	struct connection *connection; /* NULL: nobody waits */
	uint32_t bench;
	uid_t uid;
	uint64_t due_ns; /* CLOCK_BOOTTIME: when it is given up */
	bool dead;
};

static int record(struct daemon *d, const struct bench *bench, const char *event, uid_t uid,
		  struct bm_error *err)
{
	struct json_object *fields = json_object_new_object();

	bm_json_add_int(fields, "uid", uid);
	return bench_record(d, bench, event, fields, err);
}

static int bench_to_freeze(struct daemon *d, const struct connection *c,
			   struct json_object *request, struct bench **ret, struct bm_error *err)
{
	int r = bench_of_request(d, c, request, ret, err);

	if (r == 0 && (*ret)->ends)
		return bm_fail(err, EBUSY, NULL, "wait for it", "Bench %s is being ended",
			       (*ret)->name);
	if (r == 0 && (*ret)->cgroup.fd < 0)
		r = bm_fail(err, ESRCH, NULL, "see `benchmon show`",
			    "the cgroup of Bench %s has gone", (*ret)->name);
	/* It would not see what they do once they are thawed: who waits for it begins anew. */
	if (r == 0)
		search_abandon(d, *ret);
	return r;
}

static struct json_object *reply_of(struct daemon *d, const struct bench *bench)
{
	struct json_object *reply = json_object_new_object();
	size_t next;

	bm_json_add(reply, "bench", bench_to_json(d, bench, 0, false, &next));
	return reply;
}

/* It stands still. */
static int frozen(struct daemon *d, struct bench *bench, uid_t uid, struct bm_error *err)
{
	int r;

	STEP(FREEZE_FROZEN);
	if (bench->frozen)
		return 0;
	bench->frozen = true;
	r = record(d, bench, "freeze", uid, err);
	STEP(FREEZE_SAID);
	/* What the ledger lacks, the next daemon says. */
	if (r == 0)
		bm_cgroup_stopped(&bench->cgroup);
	daemon_log(LOG_LEVEL_INFO, "Bench %s frozen", bench->name);
	return r;
}

static void unwatch(struct daemon *d, struct freezing *f)
{
	if (f->watch.fd < 0)
		return;
	daemon_unwatch(d, &f->watch);
	bm_close(f->watch.fd);
	f->watch.fd = -1;
}

static void answer(struct daemon *d, struct freezing *f, struct bench *bench, int r,
		   struct bm_error *err)
{
	struct connection *c = f->connection;

	unwatch(d, f);
	f->dead = true;
	f->connection = NULL;
	bench->freezings--;
	if (c) {
		c->freezing = NULL;
		connection_answer(d, c, r, r < 0 ? NULL : reply_of(d, bench), err);
	} else if (r < 0) {
		daemon_log_error("freeze a Bench", err);
	}
}

/* -EAGAIN: it is watched, and does not stand still yet. */
static int go_on(struct daemon *d, struct freezing *f, struct bench *bench, struct bm_error *err)
{
	int r = bm_cgroup_stop(&bench->cgroup, &f->watch.fd, err);

	if (r == 0)
		return frozen(d, bench, f->uid, err);
	if (r == -EAGAIN && daemon_watch(d, &f->watch, EPOLLPRI) < 0)
		r = bm_fail_errno(err, ENOMEM, "freeze Bench %s", bench->name);
	return r;
}

static void on_events(struct daemon *d, struct watch *w, uint32_t events)
{
	struct freezing *f = (struct freezing *)w;
	struct bench *bench = model_find_id(&d->model, f->bench);
	struct bm_error err = {};
	int r;

	(void)events;
	unwatch(d, f);
	r = bench->cgroup.fd < 0 ? bm_fail(&err, ESRCH, NULL, "see `benchmon show`",
					   "the cgroup of Bench %s has gone", bench->name)
				 : go_on(d, f, bench, &err);
	if (r != -EAGAIN)
		answer(d, f, bench, r, &err);
}

/* Not told apart by what runs in it: also what has outlived its init stands still. */
int request_freeze(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct freezing *f;
	struct bench *bench;
	int r = bench_to_freeze(d, c, message->json, &bench, err);

	if (r < 0)
		return r;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct freezing){ .watch = { .fd = -1, .ready = on_events },
				.next = d->freezings,
				.bench = bench->id,
				.uid = c->uid,
				.due_ns = bm_now_ns(CLOCK_BOOTTIME) + WAIT_S * SECOND_NS };
	r = go_on(d, f, bench, err);
	if (r == -EAGAIN) {
		d->freezings = f;
		bench->freezings++;
		f->connection = c;
		c->freezing = f;
		freezings_review(d);
		return 0;
	}
	bm_close(f->watch.fd);
	free(f);
	if (r == 0)
		*ret_reply = reply_of(d, bench);
	return r;
}

void freezing_unheard(struct freezing *f)
{
	if (f)
		f->connection = NULL;
}

void freezings_give_up(struct daemon *d, struct bench *bench, const char *why)
{
	for (struct freezing *f = d->freezings; f; f = f->next) {
		struct bm_error err = {};

		if (f->dead || f->bench != bench->id)
			continue;
		bm_fail(&err, ECANCELED, NULL, "see `benchmon ls`",
			"Bench %s %s before it stood still", bench->name, why);
		answer(d, f, bench, -ECANCELED, &err);
	}
}

void freezings_review(struct daemon *d)
{
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME), next = 0;

	for (struct freezing *f = d->freezings; f; f = f->next) {
		struct bench *bench = f->dead ? NULL : model_find_id(&d->model, f->bench);
		struct bm_error err = {};

		if (bench && now >= f->due_ns) {
			bm_fail(&err, ETIMEDOUT, NULL, "freeze it again, or `benchmon thaw` it",
				"Bench %s is told to stand still, and a task of it has not left "
				"the "
				"kernel within %d s",
				bench->name, WAIT_S);
			answer(d, f, bench, -ETIMEDOUT, &err);
		} else if (bench && (!next || f->due_ns < next)) {
			next = f->due_ns;
		}
	}
	daemon_timer(d, TIMER_FREEZE, next);
}

void freezings_bury(struct daemon *d)
{
	struct freezing **at = &d->freezings;

	while (*at) {
		struct freezing *f = *at;

		if (f->dead) {
			*at = f->next;
			free(f);
		} else {
			at = &f->next;
		}
	}
}

void freezings_abandon(struct daemon *d)
{
	for (struct freezing *f = d->freezings; f; f = f->next) {
		unwatch(d, f);
		f->dead = true;
	}
	freezings_bury(d);
}

int request_thaw(struct daemon *d, struct connection *c, struct bm_message *message,
		 struct json_object **ret_reply, struct bm_error *err)
{
	struct bench *bench;
	int r = bench_to_freeze(d, c, message->json, &bench, err);

	if (r == 0 && bench->state == BENCH_BROKEN)
		r = bm_fail(err, EPERM, "pins", "destroy or detach it",
			    "Bench %s was frozen because its enforcement is not whole",
			    bench->name);
	if (r < 0)
		return r;
	freezings_give_up(d, bench, "was thawed");
	/* One that could not be frozen in time is told to be, all the same. */
	if (bench->frozen || bm_cgroup_stopping(&bench->cgroup)) {
		r = bm_cgroup_going_on(&bench->cgroup, err);
		STEP(THAW_MARKED);
		if (r == 0)
			r = record(d, bench, "thaw", c->uid, err);
		STEP(THAW_SAID);
		if (r < 0) {
			bm_cgroup_stays(&bench->cgroup);
			return r;
		}
		r = bm_cgroup_resume(&bench->cgroup, false, err);
		STEP(THAW_THAWED);
		if (r < 0)
			return r;
		bench->frozen = false;
		daemon_log(LOG_LEVEL_INFO, "Bench %s thawed", bench->name);
	}
	*ret_reply = reply_of(d, bench);
	return 0;
}
