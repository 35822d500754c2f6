/* SPDX-License-Identifier: GPL-2.0-only */
/* User namespaces as id maps: for idmapped mounts. */
#ifndef BENCHMON_USERNS_H
#define BENCHMON_USERNS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* In the map's namespace `inside` stands for `outside`, `count` ids of them. */
struct bm_id_map {
	uint32_t inside, outside, count;
};

/*
 * The ids of a mount. A user namespace for each grant would soon be more than a user may have (the
 * sysctl user.max_user_namespaces), so the same ids get the same one.
 */
struct bm_id_maps {
	struct bm_id_map uids, gids;
	int userns; /* -1: none yet */
};
/* Makes it what these ids need, or leaves it so. */
int bm_id_maps_set(struct bm_id_maps *maps, struct bm_id_map uids, struct bm_id_map gids,
		   struct bm_error *err);

/* An fd of a fresh user namespace with these maps and no process in it. */
int bm_userns_make(struct bm_id_map uids, struct bm_id_map gids, int *ret_fd, struct bm_error *err);

/* The outside ids of 0 in the user namespace of pid, 0 in the initial one. -ENXIO: 0 is unmapped.
 */
int bm_userns_root_of(pid_t pid, uid_t *ret_uid, gid_t *ret_gid, struct bm_error *err);

#endif
