/* SPDX-License-Identifier: GPL-2.0-only */
/* How many events a Bench may have in the ring, and how many a second. */
#ifndef BENCHMON_BPF_ROOM_H
#define BENCHMON_BPF_ROOM_H

#include "maps.h"

#define SECOND_NS 1000000000ull
/* With its header. */
#define RECORD_BYTES (sizeof(struct bm_event) + 8)

/*
 * What is spent is given back a second's worth at a time, so that what a flood leaves out is one
 * run of numbers a second, not one between each two events.
 */
static __always_inline bool may_spend(struct bm_stats *count, __u64 now)
{
	__u64 back;

	if (now - count->given_ns >= SECOND_NS) {
		back = (now - count->given_ns) / SECOND_NS * BM_EVENT_RATE;
		count->spent = back < count->spent ? count->spent - back : 0;
		count->given_ns = now;
	}
	return count->spent < BM_EVENT_BURST;
}

/*
 * A Bench that is refused more than anybody reads must not take the room of the others' events. It
 * gets half of what is free at most: however many do so, the next one finds some. Two CPUs at once
 * may let one more in.
 */
static __noinline int has_room(struct bm_stats *count, __u64 now)
{
	__u64 read = bpf_ringbuf_query(&events, BPF_RB_CONS_POS);
	__u64 written = bpf_ringbuf_query(&events, BPF_RB_PROD_POS);

	if (!may_spend(count, now))
		return false;
	if (read >= count->end)
		count->put = 0;
	if ((count->put + 1) * RECORD_BYTES > (BM_RING_BYTES - (written - read)) / 2)
		return false;
	count->put++;
	count->spent++;
	count->end = written + RECORD_BYTES;
	return true;
}

#endif
