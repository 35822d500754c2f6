/* SPDX-License-Identifier: GPL-2.0-only */
/* The first use of each grant, of a Bench that is to tell them. Without an event nothing changes.
 */
#ifndef BENCHMON_BPF_USES_H
#define BENCHMON_BPF_USES_H

#include "record.h"

/* Of two at once one puts it in. */
static __always_inline bool is_first_use(const struct bm_use_key *key)
{
	__u32 one = 1;

	return !bpf_map_lookup_elem(&uses, key) &&
	       bpf_map_update_elem(&uses, key, &one, BPF_NOEXIST) == 0;
}

/*
 * A flood of denials must not hide that a grant is used: the first use whose event finds no room is
 * counted, and the next one is the first again.
 */
static __always_inline struct bm_event *record_use(const struct bm_use_key *key, __u32 hook)
{
	struct bm_event *event;

	if (!is_first_use(key))
		return NULL;
	event = record(key->bench, hook, BM_ALLOW, BM_RULE_NONE, 0);
	if (!event)
		bpf_map_delete_elem(&uses, key);
	return event;
}

#endif
