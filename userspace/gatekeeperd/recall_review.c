// SPDX-License-Identifier: GPL-2.0-only
/* What a recall leaves behind for later: whether something is still held, and what expires. */
#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"
#include "gatekeeperd/barred.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/nested.h"
#include "gatekeeperd/recall.h"
#include "gatekeeperd/search.h"

#define SECOND_NS 1000000000ull
#define REVIEW_FIRST_NS (5 * SECOND_NS)
#define REVIEW_MAX_NS (60 * SECOND_NS)

/* What the search has found that has come to its end. */
static bool looks_clean(struct daemon *d, struct bench *bench)
{
	struct bm_error err = {};
	autoheld held = {};
	size_t sockets;

	return search_take(d, bench, &held, &err) == 0 && !held.count &&
	       bm_queued_count(d->kernel, bench->id, &sockets, NULL) == 0 && !sockets;
}

static bool begin_frozen_review(struct daemon *d, struct bench *bench)
{
	bool was, begun;

	bench->cgroup.wait_ms = RECALL_SHORT_MS;
	begun = bm_cgroup_pause(&bench->cgroup, &was, NULL) == 0 &&
		search_begin(d, bench, SEARCH_REVIEW_FROZEN, 0, NULL, NULL) == 0;
	if (!begun)
		recall_resume(bench);
	bench->cgroup.wait_ms = 0;
	return begun;
}

enum verdict { CLEAN, NOT_CLEAN, NOT_KNOWN };

/*
 * Whether nothing is held. While its tasks run a descriptor may wander from one that was not looked
 * at yet to one that was: so the answer counts only when they are frozen.
 */
static enum verdict is_clean(struct daemon *d, struct bench *bench)
{
	enum search_why why = bench->search ? bench->search->why : SEARCH_REVIEW;
	bool begun, clean;

	if (bench->search && (why == SEARCH_REVOKE || !bench->search->answered))
		return NOT_KNOWN;
	if (!bench_alive(bench)) {
		search_abandon(d, bench);
		return recall_nothing_lives(bench) ? CLEAN : NOT_CLEAN;
	}
	if (!bench->search) {
		begun = search_begin(d, bench, SEARCH_REVIEW, 0, NULL, NULL) == 0;
		return begun ? NOT_KNOWN : NOT_CLEAN;
	}
	clean = looks_clean(d, bench);
	if (why == SEARCH_REVIEW_FROZEN)
		recall_resume(bench);
	else if (clean)
		return begin_frozen_review(d, bench) ? NOT_KNOWN : NOT_CLEAN;
	return clean ? CLEAN : NOT_CLEAN;
}

bool has_expired(const struct grant *g)
{
	return g->expiry_ns && bm_now_ns(CLOCK_BOOTTIME) >= g->expiry_ns;
}

/* 0 is never. */
static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/* Ends g if its time has come. Returns when to look at it again. */
static uint64_t end_if_expired(struct daemon *d, struct bench *bench, struct grant *g)
{
	struct bm_error err = {};
	int r = 0;

	if (!has_expired(g))
		return g->expiry_ns;
	STEP(EXPIRY_DUE);
	/* What is mounted within it goes with it. */
	if (backoff_due(&bench->ending, bm_now_ns(CLOCK_BOOTTIME)))
		r = grant_revoke(d, bench, nested_first(bench, g), NULL, &err);
	if (r < 0 && r != REVOKE_SEARCHES)
		daemon_log_error("end an expired grant", &err);
	return bench->ending.due_ns;
}

/* The earliest end of what is left; 0: none. *ret_some: what needs the hooks. */
static uint64_t end_expired(struct daemon *d, struct bench *bench, bool *ret_some)
{
	uint64_t earliest = 0;
	struct grant *next;

	if (!bench->expiring)
		return 0;
	for (struct grant *g = bench->grants; g; g = next) {
		size_t count = bench->grant_count;
		uint64_t again;

		next = g->next;
		if (!g->expiry_ns)
			continue;
		again = bench->state == BENCH_READY ? end_if_expired(d, bench, g) : 0;
		if (bench->grant_count != count) {
			/* The list is another. */
			next = bench->grants;
			earliest = 0;
			continue;
		}
		*ret_some = true;
		earliest = sooner(earliest, again);
	}
	return earliest;
}

static void let_go_if_clean(struct daemon *d, struct bench *bench)
{
	enum verdict verdict;

	if (!bench->recalling || bench->state != BENCH_READY || d->stop ||
	    !backoff_due(&bench->review, bm_now_ns(CLOCK_BOOTTIME)))
		return;
	verdict = is_clean(d, bench);
	if (verdict == NOT_KNOWN)
		return;
	if (verdict == NOT_CLEAN) {
		backoff_failed(&bench->review, bm_now_ns(CLOCK_BOOTTIME), REVIEW_FIRST_NS,
			       REVIEW_MAX_NS);
		return;
	}
	barred_clear(d, bench);
	barred_bury(d, bench);
	STEP(REVIEW_BURIED);
	bench_forget_revoked(bench);
	bench->recalling = false;
}

/* Of a grant that has ended otherwise meanwhile. */
static void forget_search(struct daemon *d, struct bench *bench)
{
	const struct search *s = bench->search;

	if (!s || s->why != SEARCH_REVOKE || bench_grant(bench, s->grant))
		return;
	search_abandon(d, bench);
	recall_resume(bench);
}

void recall_review(struct daemon *d)
{
	struct bm_error err = {};
	bool held = false, expiring = false;
	uint64_t next = 0;

	/* A Bench that is not restored yet has neither mounts nor tasks to look at. */
	if (d->restoring)
		return;
	for (struct bench *b = d->model.benches; b; b = b->next) {
		next = sooner(next, end_expired(d, b, &expiring));
		forget_search(d, b);
		let_go_if_clean(d, b);
		held |= b->recalling;
		if (b->search)
			next = sooner(next, search_review(b, bm_now_ns(CLOCK_BOOTTIME)));
		else if (b->recalling && b->state == BENCH_READY)
			next = sooner(next, b->review.due_ns);
	}
	if (!held && !expiring && bm_recall_attached(d->kernel) &&
	    bm_recall_detach(d->kernel, &err) < 0)
		daemon_log_error("detach the hooks of a recall", &err);
	daemon_timer(d, TIMER_RECALL, next);
}
