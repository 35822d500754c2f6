// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/lifetime.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "gatekeeperd/ending.h"
#include "gatekeeperd/lifecycle.h"

#define NS 1000000000ull
#define OVERDUE_FIRST_NS (5 * NS)
#define OVERDUE_MAX_NS (300 * NS)
/* A year, as for a grant. */
#define SECONDS_MAX (366 * 24 * 3600)

static const struct {
	const char *key;
	size_t offset;
	int64_t min;
	const char *remedy;
} kinds[] = {
	{ "memory", offsetof(struct bm_limits, memory), BM_MEMORY_MIN, "at least 1M" },
	{ "pids", offsetof(struct bm_limits, pids), 1, "at least 1" },
	{ "cpus", offsetof(struct bm_limits, cpus), BM_CPUS_MIN,
	  "thousandths of a CPU, at least 10" },
	{ "disk", offsetof(struct bm_limits, disk), BM_DISK_MIN, "at least 16M" },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint64_t *limit(struct bm_limits *limits, size_t kind)
{
	return (uint64_t *)((char *)limits + kinds[kind].offset);
}

int limits_of_request(struct json_object *request, struct bm_limits *ret, int64_t *ret_seconds,
		      struct bm_error *err)
{
	static const char *const known[] = { "memory", "pids", "cpus", "disk", "seconds", NULL };
	struct json_object *given = bm_json_get(request, "limits", json_type_object);
	int r = given ? bm_json_only(given, known, "limits", err) : 0;

	*ret = (struct bm_limits){};
	*ret_seconds = 0;
	if (!given || r < 0)
		return r;
	json_object_object_foreach(given, key, value) {
		if (!json_object_is_type(value, json_type_int))
			return bm_fail(err, EINVAL, "limits", "give a number",
				       "limit \"%s\" is no number", key);
	}
	for (size_t i = 0; i < KINDS; i++) {
		int64_t number;

		if (bm_json_int(given, kinds[i].key, &number) < 0)
			continue;
		if (number < kinds[i].min)
			return bm_fail(err, EINVAL, "limits", kinds[i].remedy,
				       "the limit of %s is too low for anything to run",
				       kinds[i].key);
		*limit(ret, i) = (uint64_t)number;
	}
	if (bm_json_int(given, "seconds", ret_seconds) == 0 &&
	    (*ret_seconds < 1 || *ret_seconds > SECONDS_MAX))
		return bm_fail(err, EINVAL, "limits", "from a second to a year",
			       "the time limit makes no sense");
	return 0;
}

static struct json_object *limits_to_json(const struct bm_limits *limits)
{
	struct json_object *json = NULL;

	for (size_t i = 0; i < KINDS; i++) {
		uint64_t value = *limit((struct bm_limits *)(uintptr_t)limits, i);

		if (value && !json)
			json = json_object_new_object();
		if (value)
			bm_json_add_int(json, kinds[i].key, (int64_t)value);
	}
	return json;
}

void lifetime_add(struct json_object *json, const struct bench *bench)
{
	struct json_object *limits = limits_to_json(&bench->limits);
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME);
	char text[40];

	if (limits)
		bm_json_add(json, "limits", limits);
	if (!bench->deadline_ns)
		return;
	bm_time_format(bm_now_ns(CLOCK_REALTIME) + bench->deadline_ns - now, text);
	bm_json_add_string(json, "ends", text);
}

void lifetime_begin(struct json_object *json, struct bench *bench)
{
	if (!bench->seconds)
		return;
	bench->deadline_ns = bm_now_ns(CLOCK_BOOTTIME) + (uint64_t)bench->seconds * NS;
	bm_json_add_int(json, "deadline_ns", (int64_t)bench->deadline_ns);
}

int lifetime_replay(struct json_object *json, struct bench *bench)
{
	struct json_object *limits = bm_json_get(json, "limits", json_type_object);
	int64_t value;

	for (size_t i = 0; limits && i < KINDS; i++) {
		if (!json_object_object_get_ex(limits, kinds[i].key, NULL))
			continue;
		if (bm_json_int(limits, kinds[i].key, &value) < 0 || value <= 0)
			return -EBADMSG;
		*limit(&bench->limits, i) = (uint64_t)value;
	}
	if (!json_object_object_get_ex(json, "deadline_ns", NULL))
		return 0;
	if (bm_json_int(json, "deadline_ns", &value) < 0 || value <= 0)
		return -EBADMSG;
	bench->deadline_ns = (uint64_t)value;
	return 0;
}

static void end_overdue(struct daemon *d, struct bench *bench, uint64_t now)
{
	struct json_object *fields = json_object_new_object(), *unheard = NULL;
	struct bm_error err = {};

	daemon_log(LOG_LEVEL_INFO, "Bench %s: its time has come", bench->name);
	bm_json_add_string(fields, "reason", "time limit");
	/* Should it not come through, in whichever step. */
	backoff_failed(&bench->overdue, now, OVERDUE_FIRST_NS, OVERDUE_MAX_NS);
	if (ending_begin(d, NULL, bench, "destroy", fields, NULL, &unheard, &err) < 0)
		daemon_log_error("destroy a Bench whose time has come", &err);
}

void lifetime_await(struct daemon *d)
{
	uint64_t next = 0;

	for (struct bench *b = d->model.benches; b; b = b->next) {
		uint64_t due = b->overdue.due_ns ?: b->deadline_ns;

		if (due && !b->ends && (!next || due < next))
			next = due;
	}
	daemon_timer(d, TIMER_LIFETIME, next);
}

void lifetime_review(struct daemon *d)
{
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME);
	struct bench *after;

	for (struct bench *b = d->model.benches; b; b = after) {
		after = b->next;
		if (b->deadline_ns && b->deadline_ns <= now && !b->ends &&
		    backoff_due(&b->overdue, now))
			end_overdue(d, b, now);
	}
	lifetime_await(d);
}
