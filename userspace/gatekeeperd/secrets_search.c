// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/secrets_search.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "gatekeeperd/carriers.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/rule_four.h"
#include "gatekeeperd/secrets.h"

/* At once, of all connections. */
#define SEARCHES_MAX 8

struct secrets_search {
	struct watch watch; /* first: a watch is cast to its search. -1: it has ended */
	struct connection *connection;
	uint32_t bench_id;
	struct bm_secrets_search helper;
};

bool secrets_busy(const struct connection *c)
{
	return c->search && c->search->watch.fd >= 0;
}

void secrets_search_abandon(struct daemon *d, struct connection *c)
{
	if (!secrets_busy(c))
		return;
	daemon_unwatch(d, &c->search->watch);
	c->search->watch.fd = -1;
	bm_secrets_search_abandon(&c->search->helper);
}

void secrets_search_free(struct secrets_search *s)
{
	if (!s)
		return;
	bm_secrets_search_abandon(&s->helper);
	free(s);
}

static int offer(struct daemon *d, struct secrets_search *s, const struct bm_secrets_scan *found,
		 struct json_object **ret_reply, struct bm_error *err)
{
	struct pending *p = &s->connection->pending;
	const struct bench *bench = model_find_id(&d->model, s->bench_id);
	int r;

	if (!bench)
		return bm_fail(err, ENOENT, "confirmation", NULL,
			       "the Bench has ended while %.200s was searched for secrets",
			       p->source.path);
	r = bench_usable(bench, err);
	if (r == 0)
		r = secrets_judge(p, found, err);
	if (r == 0)
		*ret_reply = pending_offer(d, s->connection, bench);
	return r;
}

static void on_searched(struct daemon *d, struct watch *w, uint32_t events)
{
	struct secrets_search *s = (struct secrets_search *)w;
	autofree struct bm_secrets_scan *found = calloc(1, sizeof(*found));
	struct json_object *reply = NULL;
	struct bm_error err = {};
	int r;

	(void)events;
	daemon_unwatch(d, w);
	w->fd = -1;
	r = found ? bm_secrets_search_finish(&s->helper, found, &err) : -ENOMEM;
	if (r == 0)
		r = offer(d, s, found, &reply, &err);
	if (r < 0)
		pending_drop(s->connection);
	connection_answer(d, s->connection, r, reply, &err);
}

/* Its own data is the helper's from the fork on: what is here may go. */
static int start(struct daemon *d, struct secrets_search *s, const struct bench *bench,
		 const struct bm_secrets *secrets, struct bm_error *err)
{
	const struct connection *c = s->connection;
	const struct pending *p = &c->pending;
	const char *leave[EXCEPT_MAX + 1] = {};
	autofree struct bm_secret_known *known = calloc(d->model.carrier_count + 1, sizeof(*known));
	struct bm_secrets_look look = {
		.secrets = secrets,
		.fd = p->fd,
		.path = p->source.path,
		.uid = c->uid ?: p->source.uid,
		.gid = p->source.gid,
		/* As the Bench will: not mapped, its root reads everything. */
		.anybody = !bench->target.uid || !p->idmap,
		.leave = leave,
		.known = known,
		.known_why = "a carrier: see `benchmon carrier ls`",
		.entries = SEARCH_ENTRIES,
		.depth = SEARCH_DEPTH,
		.ms = SEARCH_MS,
	};
	size_t count = 0;

	if (!known)
		return bm_fail_errno(err, ENOMEM, "search for secrets");
	for (const struct carrier *one = d->model.carriers; one && !(bench->ever & WAY_SECRET);
	     one = one->next)
		known[look.known_count++] =
			(struct bm_secret_known){ one->device, one->inode, one->born_ns };
	for (size_t i = 0; i < p->except_count; i++)
		if (!p->excepts[i].readable)
			leave[count++] = p->excepts[i].name;
	return bm_secrets_search_start(&look, &s->helper, err);
}

int secrets_search_begin(struct daemon *d, struct connection *c, const struct bench *bench,
			 const struct bm_secrets *secrets, struct bm_error *err)
{
	struct secrets_search *s;
	size_t others = 0;
	int r;

	for (const struct connection *other = d->connections; other; other = other->next)
		others += other != c && !other->dead && secrets_busy(other);
	if (others >= SEARCHES_MAX)
		return bm_fail(err, EBUSY, "secret", "grant it again in some seconds",
			       "%zu grants are being searched for secrets already", others);
	s = calloc(1, sizeof(*s));
	if (!s)
		return bm_fail_errno(err, ENOMEM, "search for secrets");
	secrets_search_free(c->search);
	c->search = s;
	s->connection = c;
	s->bench_id = bench->id;
	s->watch.fd = s->helper.socket = -1;
	r = start(d, s, bench, secrets, err);
	if (r < 0)
		return r;
	s->watch = (struct watch){ .fd = s->helper.socket, .ready = on_searched };
	r = daemon_watch(d, &s->watch, EPOLLIN);
	if (r < 0)
		s->watch.fd = -1;
	return r < 0 ? bm_fail_errno(err, -r, "search for secrets") : 0;
}
