// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/asks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* So many at once, then one each half minute: a line of the ledger each, and one for its end. */
#define RATE_SIZE 10
#define RATE_NS (30ull * 1000000000)

const char *ask_id(const struct ask *ask, char ret[ASK_ID_LEN])
{
	if (ask->bench_id)
		snprintf(ret, ASK_ID_LEN, "%s/r%u", ask->bench, ask->number);
	else
		snprintf(ret, ASK_ID_LEN, "r%u", ask->number);
	return ret;
}

const char *ask_kind_name(const struct ask *ask)
{
	return ask->bench_id ? grant_kind_name(ask->kind) : "bench";
}

int ask_id_parse(const char *id, char ret_bench[BM_BENCH_NAME_LEN], uint32_t *ret_number)
{
	const char *slash = strchr(id, '/'), *digits = slash ? slash + 1 : id;
	char bench[BM_BENCH_NAME_LEN] = "";
	unsigned long number;
	char *end;

	if (slash && slash - id >= BM_BENCH_NAME_LEN)
		return -EINVAL;
	if (slash)
		memcpy(bench, id, (size_t)(slash - id));
	if ((slash && !bm_bench_name_valid(bench)) || digits[0] != 'r' || digits[1] < '1' ||
	    digits[1] > '9')
		return -EINVAL;
	errno = 0;
	number = strtoul(digits + 1, &end, 10);
	if (errno || *end || number > UINT32_MAX)
		return -EINVAL;
	memcpy(ret_bench, bench, sizeof(bench));
	*ret_number = (uint32_t)number;
	return 0;
}

struct ask *asks_find(const struct model *model, uint32_t bench_id, uint32_t number)
{
	struct ask *ask = model->asks;

	while (ask && (ask->bench_id != bench_id || ask->number != number))
		ask = ask->next;
	return ask;
}

struct ask *asks_find_id(const struct model *model, const char *id)
{
	struct ask *ask = model->asks;
	char text[ASK_ID_LEN];

	while (ask && strcmp(ask_id(ask, text), id))
		ask = ask->next;
	return ask;
}

static bool same_asker(const struct ask *a, const struct ask *b)
{
	return a->inside == b->inside &&
	       (a->inside ? a->bench_id == b->bench_id : a->uid == b->uid);
}

struct ask *asks_find_same(const struct model *model, const struct ask *ask)
{
	struct ask *a = model->asks;

	while (a &&
	       (!same_asker(a, ask) || a->bench_id != ask->bench_id ||
		strcmp(a->bench, ask->bench) || a->kind != ask->kind || a->image != ask->image ||
		strcmp(a->target, ask->target) || strcmp(a->dest, ask->dest) ||
		a->writable != ask->writable || a->seconds != ask->seconds))
		a = a->next;
	return a;
}

/* Of who asks. NULL: so many others ask at present that nobody else is remembered. */
static struct bucket *bucket_of(struct model *model, const struct ask *ask, uint64_t now_ns)
{
	struct bench *bench = ask->inside ? model_find_id(model, ask->bench_id) : NULL;
	struct asker *free = NULL;

	if (ask->inside)
		return bench ? &bench->asks_rate : NULL;
	for (size_t i = 0; i < ASKERS_MAX; i++) {
		struct asker *asker = &model->askers[i];

		if (bucket_full(&asker->rate, now_ns))
			free = free ?: asker;
		else if (asker->uid == ask->uid)
			return &asker->rate;
	}
	if (free)
		*free = (struct asker){ .uid = ask->uid };
	return free ? &free->rate : NULL;
}

/* Whose share it takes: one user's Benches must not keep another's from asking. */
static uid_t user_of(struct model *model, const struct ask *ask)
{
	const struct bench *bench = ask->bench_id ? model_find_id(model, ask->bench_id) : NULL;

	return bench ? bench->owner : ask->uid;
}

int asks_admit(struct model *model, const struct ask *ask, const struct ask_bounds *bounds,
	       uint64_t now_ns, struct bm_error *err)
{
	int64_t all = 0, bench = 0, asker = 0, user = 0;
	uid_t whose = user_of(model, ask);
	struct bucket *bucket;

	for (const struct ask *a = model->asks; a; a = a->next) {
		all++;
		user += user_of(model, a) == whose;
		bench += ask->bench_id && a->bench_id == ask->bench_id;
		asker += same_asker(a, ask);
	}
	if (bench >= bounds->each || asker >= bounds->each)
		return bm_fail(err, EBUSY, "request-limit", "wait until some of them are decided",
			       "%" PRId64 " requests %s pending already", bounds->each,
			       bench >= bounds->each ? "for this Bench are" : "of yours are");
	if (user >= bounds->user)
		return bm_fail(err, EBUSY, "request-limit", "wait until some of them are decided",
			       "%" PRId64 " requests for Benches of uid %u are pending already",
			       user, whose);
	if (all >= bounds->all)
		return bm_fail(err, EBUSY, "request-limit", "wait until some of them are decided",
			       "%" PRId64 " requests are pending in all", bounds->all);
	bucket = bucket_of(model, ask, now_ns);
	if (!bucket || !bucket_take(bucket, now_ns, RATE_SIZE, RATE_NS))
		return bm_fail(err, EAGAIN, "request-rate", "wait half a minute",
			       "too many requests in too short a time");
	return 0;
}

static uint32_t *last_of(struct model *model, uint32_t bench_id)
{
	struct bench *bench = bench_id ? model_find_id(model, bench_id) : NULL;

	return bench ? &bench->last_ask : bench_id ? NULL : &model->last_ask;
}

uint32_t asks_next_number(const struct model *model, uint32_t bench_id)
{
	const uint32_t *last = last_of((struct model *)(uintptr_t)model, bench_id);

	return last ? *last + 1 : 0;
}

void asks_add(struct model *model, struct ask *ask)
{
	uint32_t *last = last_of(model, ask->bench_id);
	struct ask **at = &model->asks;

	if (last && *last < ask->number)
		*last = ask->number;
	while (*at && (*at)->deadline_ns <= ask->deadline_ns)
		at = &(*at)->next;
	ask->next = *at;
	*at = ask;
}

void asks_remove(struct model *model, struct ask *ask)
{
	struct ask **at = &model->asks;

	while (*at && *at != ask)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = ask->next;
	free(ask);
}

void asks_remove_bench(struct model *model, uint32_t bench_id)
{
	struct ask *next;

	for (struct ask *a = model->asks; a; a = next) {
		next = a->next;
		if (bench_id && a->bench_id == bench_id)
			asks_remove(model, a);
	}
}

uint64_t asks_due(const struct model *model)
{
	uint64_t due = 0;

	for (const struct ask *a = model->asks; a; a = a->next)
		if (!due || a->deadline_ns < due)
			due = a->deadline_ns;
	return due;
}

struct json_object *ask_to_json(const struct ask *ask)
{
	struct json_object *json = json_object_new_object();
	char id[ASK_ID_LEN];

	bm_json_add_string(json, "request", ask_id(ask, id));
	bm_json_add_string(json, "kind", ask_kind_name(ask));
	bm_json_add_string(json, "target", ask->target);
	if (ask->bench_id && ask->kind == GRANT_FILE)
		bm_json_add_string(json, "rights", ask->writable ? "rw" : "ro");
	if (ask->dest[0])
		bm_json_add_string(json, "dest", ask->dest);
	if (!ask->bench_id) {
		bm_json_add_bool(json, "image", ask->image);
		if (ask->bench[0])
			bm_json_add_string(json, "name", ask->bench);
	}
	if (ask->seconds)
		bm_json_add_int(json, "for", ask->seconds);
	if (ask->why[0])
		bm_json_add_string(json, "why", ask->why);
	bm_json_add_bool(json, "inside", ask->inside);
	bm_json_add_int(json, "uid", ask->uid);
	bm_json_add_string(json, "asked", ask->asked);
	bm_json_add_string(json, "expires", ask->expires);
	bm_json_add_int(json, "deadline_ns", (int64_t)ask->deadline_ns);
	return json;
}

/* Nothing where it is not there; what is there must fit. */
static bool take_text(struct json_object *json, const char *key, char *to, size_t size)
{
	const char *text = bm_json_string(json, key);

	if (!json_object_object_get_ex(json, key, NULL))
		return true;
	return text && (size_t)snprintf(to, size, "%s", text) < size;
}

static bool take_number(struct json_object *json, const char *key, int64_t max, int64_t *to)
{
	if (!json_object_object_get_ex(json, key, NULL))
		return true;
	return bm_json_int(json, key, to) == 0 && *to >= 0 && *to <= max;
}

int ask_from_json(struct json_object *json, struct ask **ret)
{
	autofree struct ask *ask = calloc(1, sizeof(*ask));
	const char *id = bm_json_string(json, "request"), *kind = bm_json_string(json, "kind");
	const char *bench = bm_json_string(json, "bench");
	const char *rights = bm_json_string(json, "rights");
	int64_t bench_id = 0, uid = 0, deadline = 0;
	char of[BM_BENCH_NAME_LEN];

	if (!ask)
		return -ENOMEM;
	if (!id || !kind || ask_id_parse(id, of, &ask->number) < 0 || strcmp(of, bench ?: "") ||
	    !take_number(json, "bench_id", UINT32_MAX, &bench_id) || !bench_id != !of[0] ||
	    !bm_json_string(json, "target") ||
	    !take_text(json, "target", ask->target, sizeof(ask->target)) ||
	    !take_text(json, "dest", ask->dest, sizeof(ask->dest)) ||
	    !take_text(json, of[0] ? "bench" : "name", ask->bench, sizeof(ask->bench)) ||
	    !take_text(json, "why", ask->why, sizeof(ask->why)) ||
	    !take_text(json, "asked", ask->asked, sizeof(ask->asked)) ||
	    !take_text(json, "expires", ask->expires, sizeof(ask->expires)) ||
	    !take_number(json, "for", INT64_MAX, &ask->seconds) ||
	    !take_number(json, "uid", UINT32_MAX, &uid) ||
	    !take_number(json, "deadline_ns", INT64_MAX, &deadline) || !deadline)
		return -EBADMSG;
	if (of[0] ? grant_kind_parse(kind, &ask->kind) < 0 : strcmp(kind, "bench"))
		return -EBADMSG;
	ask->bench_id = (uint32_t)bench_id;
	ask->uid = (uid_t)uid;
	ask->deadline_ns = (uint64_t)deadline;
	ask->image = bm_json_bool(json, "image");
	ask->inside = bm_json_bool(json, "inside");
	ask->writable = rights && !strcmp(rights, "rw");
	*ret = TAKE_PTR(ask);
	return 0;
}

/* "requested", the four ends, and how far the numbers of a Bench have come. */
bool asks_event(const char *event)
{
	static const char *const events[] = { "requested", "confirmed", "rejected",
					      "expired",   "void",      "requests" };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (!strcmp(event, events[i]))
			return true;
	return false;
}

int asks_replay(struct model *model, const char *event, struct json_object *json)
{
	const char *id = bm_json_string(json, "request");
	struct ask *ask;
	uint32_t *last;
	int64_t number = 0;
	int r;

	if (!strcmp(event, "requests")) {
		if (bm_json_int(json, "bench_id", &number) < 0 || number <= 0 ||
		    number > UINT32_MAX)
			return -EBADMSG;
		last = last_of(model, (uint32_t)number);
		if (!last || bm_json_int(json, "last", &number) < 0 || number <= 0 ||
		    number > UINT32_MAX)
			return -EBADMSG;
		*last = (uint32_t)number;
		return 0;
	}
	if (!id)
		return -EBADMSG;
	if (strcmp(event, "requested")) {
		ask = asks_find_id(model, id);
		if (ask)
			asks_remove(model, ask);
		return 0;
	}
	r = ask_from_json(json, &ask);
	if (r < 0)
		return r;
	/* Of a Bench that there is, and a number that is new. */
	if (!last_of(model, ask->bench_id) || asks_find(model, ask->bench_id, ask->number)) {
		free(ask);
		return -EBADMSG;
	}
	asks_add(model, ask);
	return 0;
}
