/* SPDX-License-Identifier: GPL-2.0-only */
/* `tells`, walked from the root of procfs or sysfs down, one component a step. */
#ifndef BENCHMON_BPF_TELLS_H
#define BENCHMON_BPF_TELLS_H

#include "maps.h"

struct tells_walk {
	struct bm_tells_key key; /* the directory, and the name that is asked for next */
	__u32 below;             /* what has been reached stands for all below it */
};

/* One component down; false when it is not there. */
static __always_inline bool tells_step(struct tells_walk *walk)
{
	struct bm_tells *found = bpf_map_lookup_elem(&tells, &walk->key);

	if (!found || found->kind == BM_TELLS_NEVER)
		return false;
	walk->below = found->kind == BM_TELLS_BELOW;
	walk->key.parent = found->node;
	return true;
}

#endif
