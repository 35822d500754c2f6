/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps, one definition for every file of the linked object (__weak: the linker keeps one).
 * Which key leads to which value stands in abi.h.
 */
#ifndef BENCHMON_BPF_MAPS_H
#define BENCHMON_BPF_MAPS_H

#include "kernel.h"

extern volatile struct bm_config config;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BM_MAX_BENCHES);
	__type(key, __u64);
	__type(value, struct bm_bench);
} benches SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bm_ledger_end);
} ledger SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__uint(max_entries, BM_MAX_KNOWN);
	__type(key, struct bm_known_key);
	__type(value, struct bm_known);
} known SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_INODE_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bm_object);
} objects SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BM_MAX_GRANTS);
	__type(key, struct bm_grant_key);
	__type(value, struct bm_grant);
} grants SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BM_MAX_EXCEPTS);
	__type(key, struct bm_except_key);
	__type(value, struct bm_except);
} excepts SEC(".maps") __weak;

/* Written by programs, of Benches alone that are asked to tell; one that finds no room is not told.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BM_MAX_GRANTS);
	__type(key, struct bm_use_key);
	__type(value, __u32);
} uses SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BM_MAX_DESTINATIONS);
	__type(key, struct bm_dest_key);
	__type(value, struct bm_dest);
} destinations SEC(".maps") __weak;

/* Who finds no room any more has to ask again before he is answered. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, BM_MAX_HEARD);
	__type(key, struct bm_heard_key);
	__type(value, __u64);
} heard SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BM_MAX_BENCHES);
	__type(key, __u32);
	__type(value, struct bm_stats);
} stats SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__uint(max_entries, BM_MAX_TELLS);
	__type(key, struct bm_tells_key);
	__type(value, struct bm_tells);
} tells SEC(".maps") __weak;

/* Written by programs: one that is forgotten is refused, and no Bench fills it for another for
 * long. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, BM_MAX_CARRIED);
	__type(key, struct bm_carried_key);
	__type(value, __u32);
} carried SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, BM_RING_BYTES);
} events SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bm_task);
} tasks SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bm_endpoint);
} endpoints SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bm_door);
} doors SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bm_asked);
} asked SEC(".maps") __weak;

/* One storage for all attach types of a cgroup: the key is the cgroup id alone. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, __u64);
	__type(value, struct bm_cgroup);
} cgroups SEC(".maps") __weak;

#endif
