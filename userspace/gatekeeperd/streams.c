// SPDX-License-Identifier: GPL-2.0-only
/* Events: from the kernel's ring into the store, from the store to whoever reads. */
#include "gatekeeperd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "audit/events.h"
#include "base/io.h"
#include "base/names.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/peer.h"

#define OFFSET_TRIES 4

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
	bm_json_add_string(json, "hint", hint);
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
	if (bench && bench->owner)
		bm_json_add_int(json, "owner", bench->owner);
	if (bench)
		add_host(bench, json);
	bm_store_add(d->store, json);
	json_object_put(json);
}

void on_ring(struct daemon *d, struct watch *w, uint32_t events)
{
	(void)w, (void)events;
	bm_events_consume(d->kernel);
	streams_wake(d);
}

void streams_wake(struct daemon *d)
{
	for (struct connection *c = d->connections; c; c = c->next)
		if (c->streaming && !c->dead)
			stream_continue(d, c);
}

static int send_line(struct connection *c, const char *line)
{
	autojson *message = json_object_new_object();
	struct json_object *event = json_tokener_parse(line);

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

/*
 * Sends until the reader's socket is full; a reader that is slow learns what it missed and holds
 * nobody up. A line that found no room is sent first when there is some again.
 */
void stream_continue(struct daemon *d, struct connection *c)
{
	struct epoll_event wanted = { .events = EPOLLIN, .data.ptr = &c->watch };
	struct bm_reader before = c->reader;
	const char *line;
	uint64_t missed;
	int r = 0;

	/* Who has come into a Bench since, or is not there any more, hears nothing more. */
	if (peer_refused(d, c)) {
		connection_close(d, c);
		return;
	}
	while (r == 0 && bm_reader_next(&c->reader, &line, &missed)) {
		if (missed)
			r = send_missed(c, missed);
		if (r == 0)
			r = send_line(c, line);
		if (r == 0)
			before = c->reader;
	}
	if (r == -EAGAIN) {
		c->reader.position = before.position;
		c->reader.missed = before.missed;
		wanted.events |= EPOLLOUT;
	} else if (r < 0) {
		connection_close(d, c);
		return;
	} else if (!c->follow) {
		struct json_object *end = json_object_new_object();

		bm_json_add_bool(end, "end", true);
		connection_reply(d, c, end);
		if (!c->dead) {
			bm_reader_detach(&c->reader);
			c->streaming = false;
		}
	}
	if (!c->dead)
		epoll_ctl(d->epoll, EPOLL_CTL_MOD, c->watch.fd, &wanted);
}

int request_events(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	const char *bench = bm_json_string(message->json, "bench");
	const struct bench *of;
	int64_t since = 0;

	if (json_object_object_get_ex(message->json, "since", NULL) &&
	    (bm_json_int(message->json, "since", &since) < 0 || since < 0))
		return bm_fail(err, EINVAL, "protocol", NULL, "\"since\" is no number from 0 up");
	if (since && !bench)
		return bm_fail(err, EINVAL, "events", "name one with --bench",
			       "sequence numbers belong to a Bench");
	if (bench && !bm_bench_name_valid(bench))
		return bm_fail(err, EINVAL, "bench-name", NULL, "that is no name of a Bench");
	/* What has happened by now is in the ring, though perhaps not read yet. */
	bm_events_consume(d->kernel);
	bm_reader_attach(&c->reader, d->store, bench, (uint64_t)since);
	bm_reader_only(&c->reader, c->uid);
	of = bench ? model_find_of(&d->model, bench, c->uid) : NULL;
	if (of)
		bm_reader_from(&c->reader, of->first_event);
	c->follow = bm_json_bool(message->json, "follow");
	c->streaming = true;
	*ret_reply = json_object_new_object();
	return 0;
}
