/* SPDX-License-Identifier: GPL-2.0-only */
/* What did not come off is tried again, less and less often. */
#ifndef BENCHMON_BACKOFF_H
#define BENCHMON_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct backoff {
	uint64_t wait_ns; /* how long from the last failure to due_ns; 0: there was none */
	uint64_t due_ns;
};

static inline bool backoff_due(const struct backoff *b, uint64_t now_ns)
{
	return now_ns >= b->due_ns;
}

/* The first wait is first_ns, each other twice the one before, none above max_ns. */
static inline void backoff_failed(struct backoff *b, uint64_t now_ns, uint64_t first_ns,
				  uint64_t max_ns)
{
	b->wait_ns = b->wait_ns ? b->wait_ns * 2 : first_ns;
	if (b->wait_ns > max_ns)
		b->wait_ns = max_ns;
	b->due_ns = now_ns + b->wait_ns;
}

/* It came off, or what kept it from that may have changed: due at once. */
static inline void backoff_reset(struct backoff *b)
{
	*b = (struct backoff){ 0 };
}

#endif
