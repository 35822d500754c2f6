/* SPDX-License-Identifier: GPL-2.0-only */
/* What of a Bench that learns has been told. */
#ifndef BENCHMON_BPF_LEARNED_H
#define BENCHMON_BPF_LEARNED_H

#include "maps.h"

/*
 * learned: what a Bench that learns has been let through to. The first use of an object with the
 * same rights is told, and of a directory's the first BM_LEARN_MANY: a build opens ten thousand
 * files. Written and read by the programs alone.
 */
#define BM_MAX_LEARNED 16384
#define BM_LEARN_MANY 8
enum bm_learned_kind {
	BM_LEARNED_OBJECT,    /* where: inode, device */
	BM_LEARNED_DIRECTORY, /* the same of the directory; counts what was told of in it */
	BM_LEARNED_NET,       /* told; where: the address */
	BM_LEARNED_ANSWERS,   /* it was sent something: it may answer */
	BM_LEARNED_NOT_FOUND, /* where: a number of the path */
};
struct bm_learned_key {
	__u32 bench;
	__u16 kind;
	__u16 what; /* rights, or protocol */
	__u32 port; /* network byte order */
	__u32 pad;
	__u64 where[2];
};
_Static_assert(sizeof(struct bm_learned_key) == 32, "map key");

/* Who finds no room any more is told once more. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, BM_MAX_LEARNED);
	__type(key, struct bm_learned_key);
	__type(value, __u64);
} learned SEC(".maps") __weak;

static __always_inline bool is_learned(const struct bm_learned_key *key, __u64 many)
{
	__u64 *count = bpf_map_lookup_elem(&learned, key);

	return count && *count >= many;
}

static __always_inline void learn(const struct bm_learned_key *key)
{
	__u64 *count = bpf_map_lookup_elem(&learned, key), one = 1;

	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&learned, key, &one, BPF_ANY);
}

#endif
