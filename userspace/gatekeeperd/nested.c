// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/nested.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/step.h"
#include "bench/pin.h"

static bool holds(const struct grant *list, uint64_t object)
{
	for (const struct grant *g = list; g; g = g->next) {
		if (g->kind != GRANT_FILE)
			continue;
		if (g->object == object)
			return true;
		for (size_t i = 0; i < g->except_count; i++)
			for (unsigned at = 0; at < g->excepts[i].depth; at++)
				if (g->excepts[i].object[at] == object)
					return true;
	}
	return false;
}

static bool wanted(void *ctx, uint64_t object)
{
	const struct bench *bench = ctx;

	return holds(bench->grants, object) || holds(bench->closed, object);
}

static void sweep(struct bench *bench)
{
	struct bm_error err = {};

	if (bm_pins_sweep(bench->id, wanted, bench, &err) < 0)
		daemon_log_error("remove pins", &err);
}

static bool is_bench(void *ctx, uint64_t id)
{
	return id <= UINT32_MAX && model_find_id(ctx, (uint32_t)id);
}

int nested_sweep(struct daemon *d, struct bm_error *err)
{
	return bm_pins_only(is_bench, &d->model, err);
}

/* Some object of list lies in g's, or g's in one of theirs. */
static bool touches(const struct bm_mounts *pins, const struct grant *list, const struct grant *g)
{
	for (const struct grant *o = list; o; o = o->next)
		if (o != g && o->kind == GRANT_FILE &&
		    (bm_pins_inside(pins, g->object, o->object) ||
		     bm_pins_inside(pins, o->object, g->object)))
			return true;
	return false;
}

/*
 * Whether another grant decides about anything that g, once gone, would no longer restrict: about
 * g's object, which lies in theirs, or about a name in a directory that is in theirs.
 */
static bool restricts(const struct bm_mounts *pins, const struct bench *bench,
		      const struct grant *g)
{
	for (const struct grant *o = bench->grants; o; o = o->next) {
		if (o == g || o->kind != GRANT_FILE)
			continue;
		if (bm_pins_inside(pins, g->object, o->object))
			return true;
		for (size_t i = 0; i < g->except_count; i++)
			for (unsigned at = 0; at < g->excepts[i].depth; at++)
				if (g->excepts[i].object[at] == o->object ||
				    bm_pins_inside(pins, g->excepts[i].object[at], o->object))
					return true;
	}
	return false;
}

static int nest_if_needed(struct daemon *d, const struct bench *bench, const struct grant *g,
			  const struct bm_mounts *pins, struct bm_error *err)
{
	if (!g->except_count && !touches(pins, bench->grants, g) &&
	    !touches(pins, bench->closed, g))
		return 0;
	return bm_bench_nest(d->kernel, bench->cgroup.id, err);
}

int nested_begin(struct daemon *d, struct bench *bench, pid_t peer, int fd, struct grant *g,
		 struct bm_error *err)
{
	automounts pins = {};
	int r = excepts_pin(d, bench, fd, peer, g, err);

	STEP(GRANT_EXCEPTS_PINNED);
	if (r == 0)
		r = bm_pin(bench->id, fd, peer, g->directory, g->object, &pins, err);
	STEP(GRANT_FILE_PINNED);
	if (r == 0)
		r = excepts_put(d, bench, g, g, NULL, err);
	STEP(GRANT_EXCEPTS_PUT);
	/* From here on nobody in the Bench can move them; nobody has meanwhile. */
	if (r == 0)
		r = excepts_check(d, bench, fd, g, err);
	return r < 0 ? r : nest_if_needed(d, bench, g, &pins, err);
}

void nested_undo(struct daemon *d, struct bench *bench, struct grant *g)
{
	excepts_put(d, bench, g, NULL, NULL, NULL);
	sweep(bench);
}

/* g is not in the model yet. What was closed is granted again; only g's own exceptions count. */
void nested_granted(struct daemon *d, struct bench *bench, struct grant *g)
{
	struct grant *before = bench_closed_object(bench, g->object);
	struct bm_error err = {};

	if (!before)
		return;
	if (excepts_put(d, bench, before, g, before, &err) < 0)
		daemon_log_error("exceptions of what is granted again", &err);
	bench_remove_closed(bench, before);
}

static int let_go(struct daemon *d, struct bench *bench, const struct grant *g,
		  struct bm_error *err)
{
	/* While something of it is held, its tombstone is what that meets. */
	int r = bench->recalling ? 0 : bm_grant_drop(d->kernel, bench->id, g->object);

	if (r < 0)
		return bm_fail_errno(err, -r, "grants");
	STEP(REVOKE_FILE_DROPPED);
	return excepts_put(d, bench, g, NULL, g, err);
}

static bool only_file_grant(const struct bench *bench, const struct grant *g)
{
	for (const struct grant *o = bench->grants; o; o = o->next)
		if (o != g && o->kind == GRANT_FILE)
			return false;
	return true;
}

int nested_release(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err)
{
	automounts pins = {};

	if (!only_file_grant(bench, g)) {
		/* Without pins to look at it stays closed. */
		bm_pins_read(bench->id, &pins, NULL);
		g->closed = restricts(&pins, bench, g);
	}
	STEP(REVOKE_FILE_NESTED);
	return g->closed ? 0 : let_go(d, bench, g, err);
}

static void reopen(struct daemon *d, struct bench *bench)
{
	automounts pins = {};
	struct grant *next;

	bm_pins_read(bench->id, &pins, NULL);
	for (struct grant *g = bench->closed; g; g = next) {
		struct bm_error err = {};

		next = g->next;
		if (restricts(&pins, bench, g))
			continue;
		if (let_go(d, bench, g, &err) == 0)
			bench_remove_closed(bench, g);
		else
			daemon_log_error("let go of what was revoked", &err);
	}
}

void nested_revoked(struct daemon *d, struct bench *bench, struct grant *g)
{
	bool file = g->kind == GRANT_FILE;

	if (g->closed)
		bench_close_grant(bench, g);
	else if (file && bench->recalling)
		bench_retire_grant(bench, g);
	else
		bench_remove_grant(bench, g);
	STEP(REVOKE_FORGOTTEN);
	if (!file)
		return;
	if (bench->closed)
		reopen(d, bench);
	sweep(bench);
}

struct grant *nested_first(struct bench *bench, struct grant *g)
{
	struct grant *first = g;

	if (g->kind != GRANT_FILE)
		return g;
	for (struct grant *o = bench->grants; o; o = o->next) {
		size_t len = strlen(first->dest);

		/* Destinations within one another are nested; the innermost is the longest. */
		if (o->over && !strncmp(o->dest, first->dest, len) && o->dest[len] == '/')
			first = o;
	}
	return first;
}

/* Its exceptions are all in the kernel, and everything that restricts by it has its pin. */
static int adopt(struct daemon *d, struct bench *bench, const struct grant *g,
		 const struct bm_mounts *pins, struct bm_error *err)
{
	bool pinned = bm_pinned(pins, g->object);

	for (size_t i = 0; i < g->except_count; i++)
		for (unsigned at = 0; at < g->excepts[i].depth; at++)
			pinned &= bm_pinned(pins, g->excepts[i].object[at]);
	if (!pinned)
		return bm_fail(err, EPERM, "pins", "end it, and look who did that",
			       "an object of %s/%u has lost its pin below " BM_PIN_ROOT,
			       bench->name, g->number);
	return excepts_put(d, bench, g, NULL, NULL, err);
}

/* As nest_if_needed() of each of them: compared with each other they would be too many. */
static bool needs_nesting(const struct bench *bench, const struct bm_mounts *pins)
{
	const struct grant *lists[] = { bench->grants, bench->closed };
	autofree uint64_t *objects = NULL;
	size_t count = 0, room = bench->grant_count;

	for (const struct grant *g = bench->closed; g; g = g->next)
		room++;
	objects = calloc(room + 1, sizeof(*objects));
	if (!objects)
		return true;
	for (size_t i = 0; i < 2; i++) {
		for (const struct grant *g = lists[i]; g; g = g->next) {
			if (g->kind != GRANT_FILE)
				continue;
			if (g->except_count)
				return true;
			objects[count++] = g->object;
		}
	}
	return bm_pins_any_inside(pins, objects, count);
}

int nested_adopt(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	struct bm_grant tombstone = {};
	automounts pins = {};
	struct grant *next;
	int r;

	if (!bench->last_grant)
		return 0;
	r = bm_pins_read(bench->id, &pins, err);
	for (struct grant *g = bench->closed; r == 0 && g; g = next) {
		next = g->next;
		tombstone.grant = g->number;
		/* The ledger has no line for the end of a tombstone; the end of its pin is it. */
		if (!bm_pinned(&pins, g->object) || !restricts(&pins, bench, g)) {
			r = let_go(d, bench, g, err);
			if (r == 0)
				bench_remove_closed(bench, g);
			continue;
		}
		r = bm_bench_nest(d->kernel, bench->cgroup.id, err);
		if (r == 0)
			r = bm_grant_put(d->kernel, bench->id, g->object, &tombstone, err);
		if (r == 0)
			r = excepts_put(d, bench, g, NULL, NULL, err);
	}
	for (struct grant *g = bench->grants; r == 0 && g; g = g->next)
		if (g->kind == GRANT_FILE)
			r = adopt(d, bench, g, &pins, err);
	if (r == 0 && needs_nesting(bench, &pins))
		r = bm_bench_nest(d->kernel, bench->cgroup.id, err);
	if (r == 0 && bm_pins_beyond(&pins, wanted, bench))
		sweep(bench);
	return r;
}
