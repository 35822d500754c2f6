// SPDX-License-Identifier: GPL-2.0-only
#include "broker/quota.h"

#include <errno.h>

#define RULE "broker-limit"
#define COST 60000

void quota_init(struct quota *quota, const struct bm_broker_limits *limits, uint64_t now)
{
	*quota = (struct quota){
		.limits = *limits,
		.tokens = (int64_t)limits->rate * COST,
		.last = now,
	};
}

void quota_used(struct quota *quota, uint64_t requests, uint64_t bytes)
{
	quota->requests += requests;
	quota->bytes += bytes;
}

static void refill(struct quota *quota, uint64_t now)
{
	int64_t full = (int64_t)quota->limits.rate * COST;
	uint64_t gone = now - quota->last;

	quota->last = now;
	/* Two minutes make up for the deepest debt. */
	quota->tokens += (int64_t)(gone < 2 * COST ? gone : 2 * COST) * quota->limits.rate;
	if (quota->tokens > full)
		quota->tokens = full;
}

int quota_begin(struct quota *quota, uint64_t now, unsigned int *ret_wait, struct refusal *refusal)
{
	const struct bm_broker_limits *l = &quota->limits;

	*ret_wait = 0;
	refill(quota, now);
	if (l->requests && quota->requests >= l->requests)
		return refuse(refusal, 429, EDQUOT, RULE, "ask for another grant",
			      "the grant's %llu calls have been made",
			      (unsigned long long)l->requests);
	if (l->bytes && quota->bytes >= l->bytes)
		return refuse(refusal, 429, EDQUOT, RULE, "ask for another grant",
			      "the grant's %llu bytes have been used",
			      (unsigned long long)l->bytes);
	if (quota->running >= l->concurrent) {
		*ret_wait = 1;
		return refuse(refusal, 429, EBUSY, RULE, "wait until one has ended",
			      "%u calls are being made already", quota->running);
	}
	if (quota->tokens < COST) {
		*ret_wait = (unsigned int)((COST - quota->tokens) / l->rate / 1000 + 1);
		return refuse(refusal, 429, EBUSY, RULE, "call less often",
			      "more than %u calls a minute", l->rate);
	}
	quota->tokens -= COST;
	quota->requests++;
	quota->running++;
	return 0;
}

void quota_end(struct quota *quota)
{
	quota->running--;
}

void quota_refused(struct quota *quota, uint64_t now)
{
	refill(quota, now);
	quota->tokens -= COST;
}

unsigned int quota_overdrawn(struct quota *quota, uint64_t now)
{
	int64_t debt;

	refill(quota, now);
	debt = -(int64_t)quota->limits.rate * COST - quota->tokens;
	return debt > 0 ? (unsigned int)(debt / quota->limits.rate + 1) : 0;
}

bool quota_bytes(struct quota *quota, uint64_t bytes)
{
	quota->bytes += bytes;
	return !quota->limits.bytes || quota->bytes <= quota->limits.bytes;
}
