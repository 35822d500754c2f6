/* SPDX-License-Identifier: GPL-2.0-only */
/* From a definition to what is going to be sealed. Nothing here has an effect. */
#ifndef BENCHMON_GATEKEEPERD_SEAL_PLAN_H
#define BENCHMON_GATEKEEPERD_SEAL_PLAN_H

#include "base/json.h"
#include "network/resolve.h"
#include "policy/profile.h"
#include "policy/seal.h"

/*
 * The hosts of next, as the profile has them or, for what it discovers, the image whose root
 * directory root is (-1: none, which is an error where one is needed). What is left out there goes
 * into notes (an array) as
 * {"left": "..."}.
 */
int plan_hosts(const struct bm_profile *profile, int root, struct bm_sealed *next,
	       struct json_object *notes, struct bm_error *err);
/* The hosts that were sealed, once more. */
int plan_again(const struct bm_profile *profile, const struct bm_sealed *old,
	       struct bm_sealed *next, struct bm_error *err);

/* Starts to resolve them; ret->socket stays -1 where all are addresses. */
int plan_resolve(const struct bm_sealed *next, struct bm_resolving *ret, struct bm_error *err);

/*
 * The addresses into next, at the time now. One that may not be sealed is left out, with
 * {"refused":
 * {"host", "destination", "why"}} in notes; a host that has no other is an error.
 */
int plan_take(const struct bm_profile *profile, const struct bm_resolved *resolved, size_t count,
	      int64_t now, struct bm_sealed *next, struct json_object *notes, struct bm_error *err);

#endif
