/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Grants within grants, and excepted names. Taking something out of a grant needs marks that stay
 * (bench/pin.h), and taking that away again must not give it back.
 */
#ifndef BENCHMON_NESTED_H
#define BENCHMON_NESTED_H

#include "gatekeeperd/daemon.h"

/* except.c: looks at the "except" of a request, for an object that is not granted yet. */
int excepts_prepare(struct json_object *request, struct pending *p, struct bm_error *err);
/* Marks the directories that the excepted names are in; the first is g->object. */
int excepts_mark(struct daemon *d, int fd, struct grant *g, struct bm_error *err);
/* Pins them; -ESTALE: other directories are there by now. */
int excepts_pin(struct daemon *d, const struct bench *bench, int fd, pid_t peer,
		const struct grant *g, struct bm_error *err);
int excepts_check(struct daemon *d, const struct bench *bench, int fd, const struct grant *g,
		  struct bm_error *err);
/*
 * Each name of g becomes what the Bench's grants, the closed ones too, and more (or NULL) make of
 * it, without: not those of without. The strictest of them all, none: dropped.
 */
int excepts_put(struct daemon *d, const struct bench *bench, const struct grant *g,
		const struct grant *more, const struct grant *without, struct bm_error *err);
/* True when one of them has this row of the kernel's table. */
bool excepts_have(const struct bench *bench, uint64_t object, const char *name);

/*
 * nested.c. A grant: what has to stand before it has any authority, and what it replaces
 * afterwards; or all of that undone.
 */
int nested_begin(struct daemon *d, struct bench *bench, pid_t peer, int fd, struct grant *g,
		 struct bm_error *err);
void nested_granted(struct daemon *d, struct bench *bench, struct grant *g);
void nested_undo(struct daemon *d, struct bench *bench, struct grant *g);

/*
 * A revocation's last step in the kernel, in place of dropping the tombstone: where something else
 * that is granted would decide instead, it stays, and g->closed says so.
 */
int nested_release(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err);
/* Removes g from the model and what stood only because of it. */
void nested_revoked(struct daemon *d, struct bench *bench, struct grant *g);
/* The grant to be revoked before g: one that is mounted within it, innermost first; else g. */
struct grant *nested_first(struct bench *bench, struct grant *g);

/* After a restart: what restricts is put up again; -EPERM where that can't be. */
int nested_adopt(struct daemon *d, struct bench *bench, struct bm_error *err);
/* Removes the pins of Benches that are none any more. */
int nested_sweep(struct daemon *d, struct bm_error *err);

#endif
