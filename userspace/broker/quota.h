/* SPDX-License-Identifier: GPL-2.0-only */
/* What a grant may still use. Times are milliseconds of a clock that never goes back. */
#ifndef BENCHMON_BROKER_QUOTA_H
#define BENCHMON_BROKER_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/request.h"

struct quota {
	struct bm_broker_limits limits;
	uint64_t requests, bytes;
	uint32_t running;
	int64_t tokens; /* a call costs 60000, and each millisecond gives rate of them */
	uint64_t last;
};

void quota_init(struct quota *quota, const struct bm_broker_limits *limits, uint64_t now);
/* What the grant has used before. */
void quota_used(struct quota *quota, uint64_t requests, uint64_t bytes);
/* One call more, which quota_end() ends; or refused, with how many seconds to wait, if it helps. */
int quota_begin(struct quota *quota, uint64_t now, unsigned int *ret_wait, struct refusal *refusal);
void quota_end(struct quota *quota);
/* What was refused costs as much: each leaves a record. */
void quota_refused(struct quota *quota, uint64_t now);
/* In how many ms connections may be taken again; 0: they may. */
unsigned int quota_overdrawn(struct quota *quota, uint64_t now);
/* False once there are more than may be. */
bool quota_bytes(struct quota *quota, uint64_t bytes);

#endif
