/* SPDX-License-Identifier: GPL-2.0-only */
/* The OCI bundle of a Bench that benchmon makes itself. */
#ifndef BENCHMON_BUNDLE_H
#define BENCHMON_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bench/limits.h"

/* The holder, in the upper layer; unmapped root's, so that the Bench can't change it. */
#define BM_HOLDER_DIR ".benchmon"
#define BM_HOLDER BM_HOLDER_DIR "/holder"

struct bm_bundle {
	const char *name;    /* host name in the Bench, last part of its cgroup */
	const char *rootfs;  /* the mounted overlay */
	const char *scratch; /* becomes /work */
	const char *cgroup;  /* "/benchmon/b1" */
	uint32_t id_base;    /* 65536 host ids from here are 0... in the Bench */
	struct bm_limits limits;
	bool image;  /* exec: image. Root read-only, scratch noexec, /tmp of its own */
	bool userns; /* it may make user namespaces */
};

/* What a Bench may use of capabilities, as package managers and builds need them. */
extern const char *const bm_capabilities[];

/* Writes config.json into the directory. */
int bm_bundle_write(int dir, const struct bm_bundle *bundle, struct bm_error *err);

#endif
