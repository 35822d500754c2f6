// SPDX-License-Identifier: GPL-2.0-only
/* freeze, the panic button, and thaw: what takes away goes before the ledger, what gives after. */
#include <errno.h>

#include "base/step.h"

#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/search.h"

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

/* Not told apart by what runs in it: also what has outlived its init stands still. */
int request_freeze(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct bench *bench;
	int r = bench_to_freeze(d, c, message->json, &bench, err);

	if (r == 0)
		r = bm_cgroup_stop(&bench->cgroup, err);
	STEP(FREEZE_FROZEN);
	if (r < 0)
		return r;
	if (!bench->frozen) {
		bench->frozen = true;
		r = record(d, bench, "freeze", c->uid, err);
		STEP(FREEZE_SAID);
		/* What the ledger lacks, the next daemon says. */
		if (r == 0)
			bm_cgroup_stopped(&bench->cgroup);
		daemon_log(LOG_LEVEL_INFO, "Bench %s frozen", bench->name);
	}
	*ret_reply = reply_of(d, bench);
	return r;
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
