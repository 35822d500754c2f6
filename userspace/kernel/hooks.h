/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of our hooks this kernel has, and which are attached at the moment. */
#ifndef BENCHMON_HOOKS_H
#define BENCHMON_HOOKS_H

#include "base/error.h"

enum bm_hook_state {
	BM_HOOK_ON,
	BM_HOOK_OFF,       /* nothing is loaded: there was no Bench yet */
	BM_HOOK_ON_DEMAND, /* attached while something is recalled, or will expire */
	BM_HOOK_PER_BENCH, /* attached to the cgroup of each Bench */
	BM_HOOK_ABSENT,    /* this kernel has no such hook: what it would see comes to another */
	BM_HOOK_STATE_MAX,
};
const char *bm_hook_state_name(enum bm_hook_state state);

/* Each program's hook, as the kernel calls it; several programs may have the same. */
int bm_hooks_each(void (*fn)(void *ctx, const char *hook, enum bm_hook_state state), void *ctx,
		  struct bm_error *err);

#endif
