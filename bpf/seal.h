/* SPDX-License-Identifier: GPL-2.0-only */
/* Is this destination in the sealed set of the Bench whose cgroup the program is attached to? */
#ifndef BENCHMON_BPF_SEAL_H
#define BENCHMON_BPF_SEAL_H

#include <linux/in.h>
#include <bpf/bpf_endian.h>

#include "record.h"

#define LOOPBACK4 0x7f
#define V4_IN_V6 0x0000ffff

/*
 * The Bench comes from the storage of the cgroup the program is attached to, not from current:
 * a subflow or a timer sends from a kernel worker, a packet is sent from whatever was interrupted.
 */
static __always_inline struct bm_cgroup *sealed_cgroup(void)
{
	return bpf_get_local_storage(&cgroups, 0);
}

static __always_inline __u32 sealed_bench(void)
{
	return sealed_cgroup()->bench;
}

/* Loopback is the Bench's own in a network namespace of its own: else others' services are there.
 */
static __always_inline bool own_loopback(const struct bm_cgroup *cgroup)
{
	return cgroup->bench && !(cgroup->flags & BM_BENCH_SHARED_NET);
}

/* IPv4 as ::ffff:a.b.c.d, so that a v4-mapped address on an IPv6 socket is the same key. */
static __always_inline void key_v4(struct bm_dest_key *key, __u32 address)
{
	__u32 words[4] = { 0, 0, bpf_htonl(V4_IN_V6), address };

	__builtin_memcpy(key->address, words, sizeof(words));
}

static __always_inline bool is_endpoint(const struct bm_dest_key *key)
{
	__u32 words[4];

	__builtin_memcpy(words, key->address, sizeof(words));
	return !words[0] && !words[1] && words[2] == bpf_htonl(V4_IN_V6) &&
	       (words[3] & bpf_htonl(0xffffff00)) ==
		       bpf_htonl(BM_ENDPOINT_0 << 24 | BM_ENDPOINT_1 << 16 | BM_ENDPOINT_2 << 8);
}

/* But for the endpoints, which are a broker's. */
static __always_inline bool is_loopback(const struct bm_dest_key *key)
{
	__u32 words[4];

	__builtin_memcpy(words, key->address, sizeof(words));
	if (words[0] || words[1])
		return false;
	if (!words[2])
		return words[3] == bpf_htonl(1);
	return words[2] == bpf_htonl(V4_IN_V6) && key->address[12] == LOOPBACK4 &&
	       !is_endpoint(key);
}

static __always_inline __u32 seal_rule(const struct bm_dest_key *key)
{
	struct bm_dest *dest;

	if (!key->bench)
		return BM_RULE_UNKNOWN_BENCH;
	dest = bpf_map_lookup_elem(&destinations, key);
	if (!dest)
		return BM_RULE_NOT_SEALED;
	if (dest->closing)
		return BM_RULE_REVOKED;
	return expired(dest->expiry_ns) ? BM_RULE_EXPIRED : BM_RULE_NONE;
}

static __always_inline struct bm_event *fill_net(struct bm_event *event,
						 const struct bm_dest_key *key)
{
	if (!event)
		return NULL;
	__builtin_memcpy(event->net.address, key->address, sizeof(event->net.address));
	event->net.port = key->port;
	event->net.protocol = key->protocol;
	__builtin_memset(event->net.pad, 0, sizeof(event->net.pad));
	return event;
}

static __always_inline struct bm_event *record_net(const struct bm_dest_key *key, __u32 hook,
						   __u32 rule, int error)
{
	return fill_net(record(key->bench, hook, BM_DENY, rule, error), key);
}

#endif
