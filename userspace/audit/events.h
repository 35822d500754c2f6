/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's event record as the JSON of audit/README.md and audit/event.schema.json. */
#ifndef BENCHMON_EVENTS_H
#define BENCHMON_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

/*
 * Decodes a struct bm_event of size bytes as it came out of the ring, aligned or not; it may end
 * behind the member of the union that its hook uses, and behind the last name of a path.
 * realtime_offset_ns is CLOCK_REALTIME minus CLOCK_BOOTTIME. -EBADMSG: too short or too long, or
 * a member out of its range. *ret is the caller's.
 */
int bm_event_to_json(const void *record, size_t size, int64_t realtime_offset_ns,
		     const char *bench_name, struct json_object **ret);

/* What stands in the stream for the events first to last, which were counted and not delivered. */
int bm_event_suppressed(const char *bench_name, uint32_t id, uint64_t realtime_ns, uint64_t first,
			uint64_t last, struct json_object **ret);
/* What a reader is told in place of count events that it was too slow for. */
int bm_event_lost(const char *bench_name, uint64_t count, struct json_object **ret);

#endif
