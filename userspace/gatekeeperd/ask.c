// SPDX-License-Identifier: GPL-2.0-only
/* request, pending, reject; and what ends by itself. */
#include "gatekeeperd/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "base/step.h"
#include "bench/relocate.h"
#include "gatekeeperd/lifecycle.h"
#include "network/address.h"
#include "policy/one.h"

#define NS 1000000000ull
#define FOR_MAX (365 * 86400)
/* Room left for what stands around a list in a reply. */
#define REPLY_ROOM (BM_MESSAGE_MAX - 4096)

/* --- who sees it, and who decides ------------------------------------------------------------- */

static const struct bench *bench_of(const struct daemon *d, const struct ask *ask)
{
	return ask->bench_id ? model_find_id((struct model *)(uintptr_t)&d->model, ask->bench_id)
			     : NULL;
}

static bool decides(const struct daemon *d, const struct connection *c, const struct ask *ask)
{
	const struct bench *bench = bench_of(d, ask);

	/* A Bench that is not there yet is nobody's: whoever confirms it has it then. */
	return c->role == PEER_OPERATOR &&
	       (!ask->bench_id || (bench && bench_is_of(bench, c->uid)));
}

static bool sees(const struct daemon *d, const struct connection *c, const struct ask *ask)
{
	const struct bench *bench = bench_of(d, ask);

	if (c->role == PEER_BENCH)
		return ask->inside && ask->bench_id == c->bench_id;
	return decides(d, c, ask) || (!ask->inside && ask->uid == c->uid) ||
	       (bench && bench->agent == c->uid);
}

static int find(struct daemon *d, const struct connection *c, struct json_object *json,
		bool (*may)(const struct daemon *d, const struct connection *c,
			    const struct ask *ask),
		struct ask **ret, struct bm_error *err)
{
	const char *id = bm_json_string(json, "request");
	struct ask *ask = id ? asks_find_id(&d->model, id) : NULL;
	char shown[64];

	if (!id)
		return bm_fail(err, EINVAL, "protocol", NULL, "the request names no \"request\"");
	/* Whether somebody else's is there is theirs to know. */
	if (!ask || !may(d, c, ask))
		return bm_fail(err, ENOENT, "request", "see `benchmon pending`",
			       "no request %s awaits a decision",
			       bm_escape(id, shown, sizeof(shown)));
	*ret = ask;
	return 0;
}

/* --- as replies have it ------------------------------------------------------------------------
 */

struct json_object *ask_describe(const struct ask *ask)
{
	struct json_object *json = ask_to_json(ask);
	char shown[4 * ASK_TARGET_LEN];

	bm_json_add_string(json, "target", bm_escape(ask->target, shown, sizeof(shown)));
	if (ask->dest[0])
		bm_json_add_string(json, "dest", bm_escape(ask->dest, shown, sizeof(shown)));
	if (ask->bench_id)
		bm_json_add_string(json, "bench", ask->bench);
	json_object_object_del(json, "deadline_ns");
	return json;
}

/* --- how it ends -------------------------------------------------------------------------------
 */

static struct json_object *outcome_of(const char *event, struct json_object *fields)
{
	struct json_object *outcome = json_object_new_object();

	bm_json_add_string(outcome, "what", event);
	json_object_object_foreach(fields, key, value)
		bm_json_add(outcome, key, json_object_get(value));
	return outcome;
}

static void tell(struct daemon *d, const struct ask *ask, struct json_object *outcome)
{
	for (struct connection *c = d->connections; c; c = c->next) {
		struct json_object *reply;
		struct bm_error err = {};

		if (c->dead || !c->awaits.number || c->awaits.bench_id != ask->bench_id ||
		    c->awaits.number != ask->number)
			continue;
		c->awaits.number = 0;
		reply = json_object_new_object();
		bm_json_add(reply, "outcome", json_object_get(outcome));
		connection_answer(d, c, 0, reply, &err);
	}
}

void ask_end(struct daemon *d, struct ask *ask, const char *event, struct json_object *fields)
{
	const struct bench *bench = bench_of(d, ask);
	struct json_object *outcome;
	struct bm_error err = {};
	char id[ASK_ID_LEN];
	int r;

	fields = fields ?: json_object_new_object();
	bm_json_add_string(fields, "request", ask_id(ask, id));
	outcome = outcome_of(event, fields);
	/* First: who is told that it is over must not find it pending with the next daemon. */
	r = bench ? bench_record(d, bench, event, fields, &err)
		  : daemon_record(d, event, fields, &err);
	if (r < 0)
		daemon_log_error("the end of a request", &err);
	STEP(ASK_END_SAID);
	tell(d, ask, outcome);
	json_object_put(outcome);
	STEP(ASK_END_TOLD);
	daemon_log(LOG_LEVEL_INFO, "request %s: %s", id, event);
	asks_remove(&d->model, ask);
	daemon_timer(d, TIMER_ASKS, asks_due(&d->model));
}

void asks_void(struct daemon *d, const struct bench *bench, const char *why)
{
	struct ask *next;

	for (struct ask *a = d->model.asks; a; a = next) {
		struct json_object *fields;

		next = a->next;
		if (a->bench_id != bench->id)
			continue;
		fields = json_object_new_object();
		bm_json_add_string(fields, "why", why);
		ask_end(d, a, "void", fields);
	}
}

void asks_review(struct daemon *d)
{
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME), most = (uint64_t)d->config.request_seconds * NS;
	struct ask *next;

	for (struct ask *a = d->model.asks; a; a = next) {
		next = a->next;
		/* Of a clock that began anew with the machine, nothing else says how old it is. */
		if (a->deadline_ns > now + most)
			a->deadline_ns = now + most;
		if (a->deadline_ns <= now)
			ask_end(d, a, "expired", NULL);
	}
	daemon_timer(d, TIMER_ASKS, asks_due(&d->model));
}

/* --- request -----------------------------------------------------------------------------------
 */

static int take_text(struct json_object *json, const char *key, const char *what, char *to,
		     size_t size, struct bm_error *err)
{
	const char *text = bm_json_string(json, key);

	if (!text || !*text)
		return bm_fail(err, EINVAL, "protocol", NULL, "request: %s is missing", what);
	if ((size_t)snprintf(to, size, "%s", text) >= size)
		return bm_fail(err, E2BIG, "request-limit", "ask for something shorter",
			       "%s is longer than %zu bytes", what, size - 1);
	return 0;
}

static int take_why(struct json_object *json, struct ask *ask, struct bm_error *err)
{
	const char *why = bm_json_string(json, "why");

	if (!why)
		return 0;
	if (strlen(why) > ASK_WHY_TYPED)
		return bm_fail(err, E2BIG, "request-limit", "say it shorter",
			       "the reason is longer than %d bytes", ASK_WHY_TYPED);
	bm_escape(why, ask->why, sizeof(ask->why));
	return 0;
}

static int take_file(struct json_object *json, struct ask *ask, struct bm_error *err)
{
	const char *rights = bm_json_string(json, "rights") ?: "ro";
	int r = 0;

	if (ask->target[0] != '/')
		return bm_fail(err, EINVAL, "request", "name it from / on",
			       "what is asked for by name is a path from / on");
	if (strcmp(rights, "ro") && strcmp(rights, "rw"))
		return bm_fail(err, EINVAL, "rights", "give ro or rw", "rights are ro or rw");
	ask->writable = !strcmp(rights, "rw");
	if (json_object_object_get_ex(json, "dest", NULL))
		r = take_text(json, "dest", "\"dest\"", ask->dest, sizeof(ask->dest), err);
	return r == 0 && ask->dest[0] ? bm_dest_check(ask->dest, err) : r;
}

/* Whether it says anything; what it leads to is looked at when it is confirmed. */
static int check_net(const char *target, struct bm_error *err)
{
	struct bm_destination destination;
	autoprofile one = {};

	if (bm_bench_name_valid(target))
		return 0;
	return bm_destination_is_name(target, strlen(target))
		       ? bm_one_parse(target, strlen(target), &one, err)
		       : bm_destination_parse(target, &destination, err);
}

static int check_port(const char *target, struct bm_error *err)
{
	char *end;
	unsigned long port = strtoul(target, &end, 10);

	if (target[0] < '1' || target[0] > '9' || port > 65535 ||
	    (*end && strcmp(end, "/tcp") && strcmp(end, "/udp")))
		return bm_fail(err, EINVAL, "listen", "write it as 8080 or 53/udp",
			       "no port to listen at");
	return 0;
}

static int check_target(struct json_object *json, struct ask *ask, struct bm_error *err)
{
	switch (ask->kind) {
	case GRANT_FILE:
		return take_file(json, ask, err);
	case GRANT_NET:
		return check_net(ask->target, err);
	case GRANT_LISTEN:
		return check_port(ask->target, err);
	case GRANT_BROKER:
		return bm_bench_name_valid(ask->target)
			       ? 0
			       : bm_fail(err, EINVAL, "broker", "see `benchmon broker ls`",
					 "that is no name for a broker");
	default:
		return -EINVAL;
	}
}

static int take_grant(struct daemon *d, const struct connection *c, struct json_object *json,
		      struct ask *ask, struct bm_error *err)
{
	struct bench *bench = NULL;
	int r = 0;

	/* By its own way it can mean no other. */
	if (c->role == PEER_BENCH)
		bench = model_find_id(&d->model, c->bench_id);
	else
		r = bench_of_request(d, c, json, &bench, err);
	if (r == 0 && !bench)
		r = bm_fail(err, ENOENT, NULL, NULL, "the Bench has ended");
	if (r == 0)
		r = bench_usable(bench, err);
	if (r < 0)
		return r;
	ask->bench_id = bench->id;
	snprintf(ask->bench, sizeof(ask->bench), "%s", bench->name);
	r = take_text(json, "target", "what is asked for", ask->target, sizeof(ask->target), err);
	if (r == 0 && json_object_object_get_ex(json, "for", NULL) &&
	    (bm_json_int(json, "for", &ask->seconds) < 0 || ask->seconds <= 0 ||
	     ask->seconds > FOR_MAX))
		r = bm_fail(err, EINVAL, "protocol", NULL,
			    "request: \"for\" is a number of seconds up to a year");
	if (r < 0)
		return r;
	return check_target(json, ask, err);
}

static int take_bench(const struct connection *c, struct json_object *json, struct ask *ask,
		      struct bm_error *err)
{
	const char *image = bm_json_string(json, "image"), *root = bm_json_string(json, "rootfs");
	const char *name = bm_json_string(json, "name");

	if (c->role == PEER_BENCH)
		return bm_fail(err, EPERM, "request", NULL, "a Bench asks for no other Bench");
	if (!image == !root)
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "request: needs one of \"image\" and \"rootfs\"");
	if (root && *root != '/')
		return bm_fail(err, EINVAL, "request", "name it from / on",
			       "the root file system is a path from / on");
	/* An option of podman's it must not become. */
	if (image && *image == '-')
		return bm_fail(err, EINVAL, "request", NULL, "that is no name of an image");
	if (name && !bm_bench_name_valid(name))
		return bm_fail(err, EINVAL, "bench-name",
			       "use 1 to 32 of a-z, 0-9 and '-', a letter first",
			       "that is no name for a Bench");
	snprintf(ask->bench, sizeof(ask->bench), "%s", name ?: "");
	ask->image = image;
	return take_text(json, image ? "image" : "rootfs", "the root file system", ask->target,
			 sizeof(ask->target), err);
}

static int take(struct daemon *d, const struct connection *c, struct json_object *json,
		struct ask *ask, struct bm_error *err)
{
	const char *kind = bm_json_string(json, "kind");
	int r;

	ask->inside = c->role == PEER_BENCH;
	ask->uid = ask->inside ? 0 : c->uid;
	if (kind && !strcmp(kind, "bench"))
		r = take_bench(c, json, ask, err);
	else if (grant_kind_parse(kind, &ask->kind) < 0)
		r = bm_fail(err, EINVAL, "protocol", "give file, net, listen or bench",
			    "request: unknown kind");
	else
		r = take_grant(d, c, json, ask, err);
	return r < 0 ? r : take_why(json, ask, err);
}

static int enqueue(struct daemon *d, struct ask *ask, struct bm_error *err)
{
	struct ask_bounds bounds = { d->config.max_requests, d->config.max_requests_each,
				     d->config.max_requests_per_user };
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME), ns = (uint64_t)d->config.request_seconds * NS;
	const struct bench *bench = bench_of(d, ask);
	char id[ASK_ID_LEN];
	int r = asks_admit(&d->model, ask, &bounds, now, err);

	if (r < 0)
		return r;
	ask->number = asks_next_number(&d->model, ask->bench_id);
	ask->deadline_ns = now + ns;
	now_text(ask->asked);
	bm_time_format(bm_now_ns(CLOCK_REALTIME) + ns, ask->expires);
	r = bench ? bench_record(d, bench, "requested", ask_to_json(ask), err)
		  : daemon_record(d, "requested", ask_to_json(ask), err);
	STEP(ASK_SAID);
	if (r < 0)
		return r;
	daemon_log(LOG_LEVEL_INFO, "request %s for %s", ask_id(ask, id), ask_kind_name(ask));
	asks_add(&d->model, ask);
	daemon_timer(d, TIMER_ASKS, asks_due(&d->model));
	STEP(ASK_QUEUED);
	return 0;
}

int request_request(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	autofree struct ask *ask = calloc(1, sizeof(*ask));
	struct ask *pending;
	int r = ask ? take(d, c, message->json, ask, err) : -ENOMEM;

	if (r < 0)
		return r;
	/* Asked again it is the same, and costs nobody anything. */
	pending = asks_find_same(&d->model, ask);
	if (!pending) {
		r = enqueue(d, ask, err);
		if (r < 0)
			return r;
		pending = TAKE_PTR(ask);
	}
	if (bm_json_bool(message->json, "wait")) {
		c->awaits.bench_id = pending->bench_id;
		c->awaits.number = pending->number;
	}
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "request", ask_describe(pending));
	return 0;
}

/* --- pending, reject ---------------------------------------------------------------------------
 */

static int show_one(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	struct ask *ask;
	int r = find(d, c, message->json, sees, &ask, err);

	if (r < 0)
		return r;
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "request", ask_describe(ask));
	/* As it was asked for, to be opened by who decides. */
	if (decides(d, c, ask))
		bm_json_add_string(*ret_reply, "open", ask->target);
	return 0;
}

int request_pending(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *list;
	size_t offset, used = 0, i = 0;
	int r = offset_of_request(message->json, &offset, err);

	if (r < 0)
		return r;
	if (json_object_object_get_ex(message->json, "request", NULL))
		return show_one(d, c, message, ret_reply, err);
	list = json_object_new_array();
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "items", list);
	for (const struct ask *a = d->model.asks; a; a = a->next, i++) {
		struct json_object *item;

		if (i < offset || !sees(d, c, a))
			continue;
		item = ask_describe(a);
		used += strlen(json_object_to_json_string_ext(item, 0)) + 1;
		if (used > REPLY_ROOM) {
			json_object_put(item);
			bm_json_add_int(*ret_reply, "next", (int64_t)i);
			break;
		}
		json_object_array_add(list, item);
	}
	return 0;
}

int request_reject(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct ask *ask, said = {};
	struct json_object *fields;
	int r = find(d, c, message->json, decides, &ask, err);

	if (r == 0)
		r = take_why(message->json, &said, err);
	if (r < 0)
		return r;
	fields = json_object_new_object();
	bm_json_add_int(fields, "uid", c->uid);
	if (said.why[0])
		bm_json_add_string(fields, "why", said.why);
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "rejected", ask_describe(ask));
	ask_end(d, ask, "rejected", fields);
	return 0;
}
