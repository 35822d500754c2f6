/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a Bench's root file system is made of: the directory that was given, or, where that is an
 * image of layers (an overlay, which can't be idmapped), each of them.
 */
#ifndef BENCHMON_LAYERS_H
#define BENCHMON_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* As many as their paths have room for in the options of one mount. */
#define BM_LAYERS_MAX 64

struct bm_layers {
	int tree[BM_LAYERS_MAX]; /* detached clones, the uppermost first */
	size_t count;
};

void bm_layers_done(struct bm_layers *layers);
#define autolayers __attribute__((cleanup(bm_layers_done))) struct bm_layers

/*
 * rootfs is a directory that peer has opened. -EBUSY: an overlay that is being written to; -E2BIG;
 * -EPERM: an overlay, and peer is not root: its layers are known by path alone, and who may swap
 * what is there would be handed any directory of the host.
 */
int bm_layers_clone(int rootfs, pid_t peer, bool root, struct bm_layers *ret, struct bm_error *err);

#endif
