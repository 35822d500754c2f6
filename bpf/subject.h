/* SPDX-License-Identifier: GPL-2.0-only */
/* Events about what is no file and no destination, and who is asked about at the walls. */
#ifndef BENCHMON_BPF_SUBJECT_H
#define BENCHMON_BPF_SUBJECT_H

#include "record.h"
#include "who.h"

/* The Bench of current, unless current is an arrival, which the runtime needs at work; else NULL.
 */
static __always_inline struct bm_bench *walled_bench(void)
{
	struct bm_bench *bench = bench_of_current();

	return bench && !is_arrival(bench->id) ? bench : NULL;
}

/* name: in the kernel's memory, or NULL. Returns -error. */
static __always_inline int refuse(__u32 bench, __u32 hook, __u32 rule, int error, __u32 number,
				  __u32 access, const char *name)
{
	struct bm_event *event = record(bench, hook, BM_DENY, rule, error);

	if (!event)
		return -error;
	record_process(event);
	event->subject.number = number;
	event->subject.access = access;
	__builtin_memset(event->subject.name, 0, sizeof(event->subject.name));
	if (name)
		bpf_probe_read_kernel_str(event->subject.name, sizeof(event->subject.name), name);
	bpf_ringbuf_submit(event, 0);
	return -error;
}

static __always_inline int refuse_task(__u32 bench, __u32 hook, __u32 rule, int error, __u32 target)
{
	struct bm_event *event = record(bench, hook, BM_DENY, rule, error);

	if (!event)
		return -error;
	record_process(event);
	event->task.target = target;
	event->task.pad = 0;
	bpf_ringbuf_submit(event, 0);
	return -error;
}

#endif
