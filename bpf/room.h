/* SPDX-License-Identifier: GPL-2.0-only */
/* The room that a Bench has in the ring of events. */
#ifndef BENCHMON_BPF_ROOM_H
#define BENCHMON_BPF_ROOM_H

#include "maps.h"

/*
 * A Bench that is refused more than anybody reads must not take the room of the others' events. Two
 * CPUs at once may let one more in.
 */
static __noinline int has_room(struct bm_stats *count)
{
	__u64 read = bpf_ringbuf_query(&events, BPF_RB_CONS_POS);
	__u64 written = bpf_ringbuf_query(&events, BPF_RB_PROD_POS);

	if (read >= count->end)
		count->put = 0;
	if (written - read >= BM_RING_BYTES / 2 && count->put >= BM_RING_SHARE)
		return false;
	count->put++;
	count->end = written + sizeof(struct bm_event);
	return true;
}

#endif
