// SPDX-License-Identifier: GPL-2.0-only
/* Events: from the kernel's ring into the store, from the store to whoever reads. */
#include "gatekeeperd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "audit/describe.h"
#include "audit/events.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/names.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/peer.h"

#define OFFSET_TRIES 4
/* So soon a number that is missing is known to be suppressed. */
#define SETTLE_NS 200000000ull
/* Between two pieces of a file that is compressed, others are served. */
#define PIECE_NS 10000000ull
#define HOUR_NS 3600000000000ull

/*
 * Somebody sets the clock while we run. And somebody else may have run between the two readings:
 * the pair that was read in the shortest time is right.
 */
static int64_t realtime_offset(void)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < OFFSET_TRIES; i++) {
		uint64_t before = bm_now_ns(CLOCK_BOOTTIME), now = bm_now_ns(CLOCK_REALTIME),
			 took = bm_now_ns(CLOCK_BOOTTIME) - before;

		if (took < best) {
			best = took;
			offset = (int64_t)(now - before - took / 2);
		}
	}
	return offset;
}

/* Under which name somebody has sealed it; where only its age is against it, what mends that. */
static void add_host(const struct bench *bench, struct json_object *json)
{
	const char *text = bm_json_string(json, "destination"),
		   *rule = bm_json_string(json, "rule");
	const struct grant_host *host;
	const struct grant *g;
	struct bm_destination d;
	char hint[BM_PROFILE_NAME_LEN + 32];

	if (!text || bm_destination_parse(text, &d, NULL) < 0)
		return;
	g = sealed_for(bench, &d, &host);
	if (!g)
		return;
	bm_json_add_string(json, "host", host->name);
	bm_json_add_string(json, "profile", g->profile);
	if (!rule || strcmp(rule, bm_rule_name(BM_RULE_EXPIRED)) || g->expiry_ns)
		return;
	snprintf(hint, sizeof(hint), "benchmon profile refresh %s", g->profile);
	json_object_object_del(json, "hint");
	bm_json_add_string(json, "hint", hint);
}

/* A file's path begins at the root of its file system: what the host and the Bench call it. */
static void add_places(struct daemon *d, struct bench *bench, struct json_object *json)
{
	struct json_object *object = bm_json_get(json, "object", json_type_object);
	const char *path = object ? bm_json_string(object, "path") : NULL,
		   *device = object ? bm_json_string(object, "device") : NULL,
		   *wanted = object ? bm_json_string(object, "wanted") : NULL;
	bool hinted = bm_json_string(json, "hint");
	char found[BM_PATH_LEN], hint[BM_HINT_LEN];
	unsigned int major, minor;
	int fd;

	if (!path || !device || path[0] != '/' || sscanf(device, "%u:%u", &major, &minor) != 2)
		return;
	/* Once: what fails would fail again, at each of a flood. */
	if (!bench->placed && bench->target.ns[BM_NS_MNT] >= 0) {
		bench->placed = true;
		if (bm_target_mountinfo(&bench->target, &fd, NULL) == 0)
			places_watch(&bench->places, fd);
	}
	if (places_find(&bench->places, major, minor, path, false, found, sizeof(found)) == 0)
		bm_json_add_string(object, "inside", found);
	if (hinted)
		json_object_object_del(json, "hint");
	/* What is mounted nowhere on the host can't be named there. */
	if (places_find(&d->host, major, minor, path, true, found, sizeof(found)) < 0)
		return;
	bm_json_add_string(object, "host", found);
	if (hinted &&
	    bm_describe_file_hint(found, wanted && strchr(wanted, 'w'), bench->name, hint))
		bm_json_add_string(json, "hint", hint);
}

/* --- from the ring --------------------------------------------------------------------------- */

static void tell(struct daemon *d, struct json_object *json)
{
	bool busy = bm_store_busy(d->store);

	bm_store_add(d->store, json);
	json_object_put(json);
	if (!busy && bm_store_busy(d->store))
		daemon_timer(d, TIMER_STORE, bm_now_ns(CLOCK_BOOTTIME));
}

static void work_on_store(struct daemon *d)
{
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME);

	if (!d->due_ns[TIMER_STORE] || d->due_ns[TIMER_STORE] > now)
		return;
	bm_store_work(d->store);
	daemon_timer(d, TIMER_STORE, now + (bm_store_busy(d->store) ? PIECE_NS : HOUR_NS));
}

static void tell_next(struct daemon *d, struct bench *bench)
{
	struct json_object *json;

	while ((json = bm_order_next(&bench->events)))
		tell(d, json);
}

/* What an earlier daemon has told is in its file; what it had read and not told never will be. */
static void resume(struct daemon *d, struct bench *bench)
{
	if (bench->resumed)
		return;
	bench->events.told = bm_store_told(d->store, bench->id);
	bench->resumed = true;
}

static void await_settling(struct daemon *d)
{
	if (!d->due_ns[TIMER_EVENTS])
		daemon_timer(d, TIMER_EVENTS, bm_now_ns(CLOCK_BOOTTIME) + SETTLE_NS);
}

void on_record(void *ctx, const void *record, size_t size)
{
	const struct bm_event *event = record;
	struct daemon *d = ctx;
	struct json_object *json;
	struct bench *bench;
	char name[BM_BENCH_NAME_LEN];

	if (size < offsetof(struct bm_event, file))
		return;
	bench = model_find_id(&d->model, event->bench);
	/* Of a Bench that has just ended: still somebody's denial. */
	if (bench)
		snprintf(name, sizeof(name), "%s", bench->name);
	else
		snprintf(name, sizeof(name), "ended-%u", event->bench);
	if (bm_event_to_json(record, size, realtime_offset(), name, &json) < 0) {
		daemon_log(LOG_LEVEL_ERROR, "malformed event record of %zu bytes", size);
		return;
	}
	if (!bench) {
		tell(d, json);
		return;
	}
	if (bench->owner)
		bm_json_add_int(json, "owner", bench->owner);
	add_host(bench, json);
	add_places(d, bench, json);
	resume(d, bench);
	bm_order_put(&bench->events, event->seq, json);
	tell_next(d, bench);
	bench->stirred = true;
	await_settling(d);
}

/* Nobody is bringing an event up to that number any more. */
static void settle(struct daemon *d, struct bench *bench, uint64_t last)
{
	uint64_t from, to;

	resume(d, bench);
	tell_next(d, bench);
	while (bm_order_gap(&bench->events, last, &from, &to)) {
		struct json_object *json;

		if (bm_event_suppressed(bench->name, bench->id, bm_now_ns(CLOCK_REALTIME), from, to,
					&json) == 0) {
			if (bench->owner)
				bm_json_add_int(json, "owner", bench->owner);
			tell(d, json);
		}
		tell_next(d, bench);
	}
}

/* Whether some are not told; *ret_last: of those that the kernel has counted by now. */
static bool is_behind(struct daemon *d, struct bench *bench, uint64_t *ret_last)
{
	struct bm_stats stats;

	resume(d, bench);
	if (bm_stats_get(d->kernel, bench->id, &stats) < 0)
		return false;
	*ret_last = stats.seq;
	return stats.seq > bench->events.told;
}

/*
 * A number is given before there is a place for its event, so one that is missing may be about to
 * come. Once all programs that ran when the numbers were read have ended, and the ring is read, it
 * was suppressed.
 */
void streams_settle(struct daemon *d)
{
	bool behind = false;

	bm_events_consume(d->kernel);
	for (struct bench *b = d->model.benches; b; b = b->next) {
		b->settling = 0;
		if (b->stirred)
			b->stirred = is_behind(d, b, &b->settling);
		behind |= b->stirred;
	}
	if (!behind || bm_kernel_settle() < 0)
		return;
	bm_events_consume(d->kernel);
	for (struct bench *b = d->model.benches; b; b = b->next)
		if (b->settling)
			settle(d, b, b->settling);
}

void streams_review(struct daemon *d)
{
	bool stirred = false;

	work_on_store(d);
	if (!d->due_ns[TIMER_EVENTS] || d->due_ns[TIMER_EVENTS] > bm_now_ns(CLOCK_BOOTTIME))
		return;
	streams_settle(d);
	for (struct bench *b = d->model.benches; b; b = b->next)
		stirred |= b->stirred;
	daemon_timer(d, TIMER_EVENTS, stirred ? bm_now_ns(CLOCK_BOOTTIME) + SETTLE_NS : 0);
	streams_wake(d);
}

void streams_end(struct daemon *d, struct bench *bench, uint64_t last)
{
	bm_events_consume(d->kernel);
	settle(d, bench, last);
	bm_store_forget(d->store, bench->id);
	streams_wake(d);
}

static bool is_alive(void *ctx, uint32_t id)
{
	struct daemon *d = ctx;

	return model_find_id(&d->model, id);
}

void streams_begin(struct daemon *d)
{
	bm_store_keep(d->store, is_alive, d);
	for (struct bench *b = d->model.benches; b; b = b->next) {
		resume(d, b);
		b->stirred = true;
	}
	await_settling(d);
	daemon_timer(d, TIMER_STORE, bm_now_ns(CLOCK_BOOTTIME));
}

void on_ring(struct daemon *d, struct watch *w, uint32_t events)
{
	(void)w, (void)events;
	bm_events_consume(d->kernel);
	streams_wake(d);
}

/* --- to readers ------------------------------------------------------------------------------ */

void streams_wake(struct daemon *d)
{
	for (struct connection *c = d->connections; c; c = c->next)
		if (c->streaming && !c->dead)
			stream_continue(d, c);
}

static int send_line(struct connection *c, const char *line)
{
	autojson *message = json_object_new_object();
	struct json_object *event = json_object_new_object();

	if (!message || !event)
		return -ENOMEM;
	/* As it stands: to take a line apart and put it together again is most of what it costs. */
	json_object_set_serializer(event, json_object_userdata_to_json_string,
				   (void *)(uintptr_t)line, NULL);
	bm_json_add(message, "event", event);
	return bm_send(c->watch.fd, message, NULL, 0);
}

static int send_missed(struct connection *c, uint64_t missed)
{
	autojson *message = json_object_new_object();
	struct json_object *event;

	if (bm_event_lost(c->reader.bench, missed, &event) < 0)
		return -ENOMEM;
	bm_json_add(message, "event", event);
	return bm_send(c->watch.fd, message, NULL, 0);
}

/* 1: it has found no room, and is sent first when there is some again. */
static int send_unsent(struct connection *c)
{
	int r = 0;

	if (c->unsent_missed)
		r = send_missed(c, c->unsent_missed);
	if (r == 0) {
		c->unsent_missed = 0;
		r = c->unsent ? send_line(c, c->unsent) : 0;
	}
	if (r == -EAGAIN)
		return 1;
	free(TAKE_PTR(c->unsent));
	return r;
}

static int send_next(struct connection *c, enum bm_reader_state *ret_state)
{
	const char *line;

	*ret_state = bm_reader_next(&c->reader, &line, &c->unsent_missed);
	if (*ret_state != BM_READER_LINE)
		return 0;
	c->unsent = strdup(line);
	return c->unsent ? send_unsent(c) : -ENOMEM;
}

static void end_stream(struct daemon *d, struct connection *c)
{
	struct json_object *end = json_object_new_object();

	bm_json_add_bool(end, "end", true);
	connection_reply(d, c, end);
	if (c->dead)
		return;
	bm_reader_detach(&c->reader);
	c->streaming = false;
}

/* Sends until the reader's socket is full; a reader that is slow learns what it missed and holds
 * nobody up. */
void stream_continue(struct daemon *d, struct connection *c)
{
	struct epoll_event wanted = { .events = EPOLLIN, .data.ptr = &c->watch };
	enum bm_reader_state state = BM_READER_LINE;
	int r;

	/* Who has come into a Bench since, or is not there any more, hears nothing more. */
	if (peer_refused(d, c)) {
		connection_close(d, c);
		return;
	}
	r = send_unsent(c);
	while (r == 0 && state == BM_READER_LINE)
		r = send_next(c, &state);
	if (r < 0) {
		connection_close(d, c);
		return;
	}
	if (r == 1 || state == BM_READER_MORE)
		wanted.events |= EPOLLOUT;
	else if (!c->follow)
		end_stream(d, c);
	if (!c->dead)
		epoll_ctl(d->epoll, EPOLL_CTL_MOD, c->watch.fd, &wanted);
}

int request_events(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	const char *bench = bm_json_string(message->json, "bench");
	const struct bench *of;
	bool given = json_object_object_get_ex(message->json, "since", NULL);
	int64_t since = 0;
	int r;

	if (given && (bm_json_int(message->json, "since", &since) < 0 || since < 0))
		return bm_fail(err, EINVAL, "protocol", NULL, "\"since\" is no number from 0 up");
	if (given && !bench)
		return bm_fail(err, EINVAL, "events", "name one with --bench",
			       "sequence numbers belong to a Bench");
	if (bench && !bm_bench_name_valid(bench))
		return bm_fail(err, EINVAL, "bench-name", NULL, "that is no name of a Bench");
	streams_settle(d);
	bm_reader_attach(&c->reader, d->store, bench, (uint64_t)since);
	bm_reader_only(&c->reader, c->uid);
	of = bench ? model_find_of(&d->model, bench, c->uid) : NULL;
	if (of)
		bm_reader_of(&c->reader, of->id);
	if (given) {
		r = bm_reader_resume(&c->reader);
		if (r < 0) {
			bm_reader_detach(&c->reader);
			return bm_fail_errno(err, -r, "stored events");
		}
	}
	c->follow = bm_json_bool(message->json, "follow");
	c->streaming = true;
	*ret_reply = json_object_new_object();
	return 0;
}
