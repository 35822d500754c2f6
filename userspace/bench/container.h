/* SPDX-License-Identifier: GPL-2.0-only */
/* Containers as crun knows them, and those that it makes for us. */
#ifndef BENCHMON_CONTAINER_H
#define BENCHMON_CONTAINER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"

#define BM_CRUN_ROOT "/run/benchmon/crun" /* of the containers made here */
#define BM_CRUN_DEFAULT_ROOT "/run/crun"  /* of everybody else's */

/* -EINVAL for what no runtime takes for an id. */
int bm_container_check_id(const char *id, struct bm_error *err);
/* What key says in a runtime's state, relative to its "bundle" or not; *ret is the caller's. */
int bm_container_rootfs(struct json_object *state, const char *key, char **ret,
			struct bm_error *err);

/*
 * The init process of container id; *ret_created: it waits to be started; *ret_rootfs (may be
 * NULL): the directory it was made with, the caller's.
 */
int bm_container_find(const char *root, const char *id, pid_t *ret_pid, bool *ret_created,
		      char **ret_rootfs, struct bm_error *err);
/* With its cgroup frozen: true while the payload can't have begun. */
bool bm_container_waits(const char *root, const char *id);

int bm_crun_create(const char *id, const char *bundle, pid_t *ret_pid, struct bm_error *err);
int bm_crun_start(const char *id, struct bm_error *err);
/* Kills and forgets it; 0 also when there is none. */
int bm_crun_delete(const char *id, struct bm_error *err);

#endif
