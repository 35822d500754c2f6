/* SPDX-License-Identifier: GPL-2.0-only */
/* The container that an `attach` means, by whatever it was named. */
#ifndef BENCHMON_CHOSEN_H
#define BENCHMON_CHOSEN_H

#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "bench/cgroup.h"

struct chosen {
	pid_t pid;
	char cgroup[BM_CGROUP_PATH], shown[256];
	const char *waiting;      /* for `start`, or for its hook: the id, of the request */
	const char *runtime_root; /* NULL: for its hook */
	char *rootfs;
};

void chosen_done(struct chosen *chosen);
#define autochosen __attribute__((cleanup(chosen_done))) struct chosen

/*
 * container: exactly one of "id" (as crun has it), "pid", "cgroup", and "hook": what a runtime
 * tells its createRuntime hooks ("id", "pid", "bundle", "root"). For uid, who if not root names it
 * by "pid" or "cgroup": what crun knows under an id, and what runs its hooks, is root's.
 */
int chosen_find(struct json_object *container, uid_t uid, struct chosen *ret, struct bm_error *err);

#endif
