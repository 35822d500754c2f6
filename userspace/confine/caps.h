/* SPDX-License-Identifier: GPL-2.0-only */
/* Capabilities, given up for good. */
#ifndef BENCHMON_CAPS_H
#define BENCHMON_CAPS_H

#include <stdint.h>

#include "base/error.h"

#define BM_CAP(name) (1ull << CAP_##name)

/* What the calling task has now; 0 when that can't be told. */
uint64_t bm_caps_permitted(void);
/* No more than keep from here on, effective and permitted; nothing inheritable or ambient. */
int bm_caps_keep(uint64_t keep, struct bm_error *err);
/* Nor by any exec: the bounding set. Needs CAP_SETPCAP, so it comes before bm_caps_keep(). */
int bm_caps_bound(uint64_t keep, struct bm_error *err);

#endif
