/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom a packet on the loopback of a Bench's own network leads to. A listener that somebody outside
 * has put there passes on what the Bench may not: Docker's resolver, the forwarders of pasta.
 */
#ifndef BENCHMON_BPF_WITHIN_H
#define BENCHMON_BPF_WITHIN_H

#include "inbound.h"
#include "who.h"

static __always_inline bool is_of(struct bpf_sock *sk, __u32 bench)
{
	__u32 count = config.level_count;

	for (__u32 i = 0; i < BM_MAX_LEVELS; i++) {
		struct bm_bench *of;

		if (i >= count)
			break;
		of = bench_of_cgroup(bpf_sk_ancestor_cgroup_id(sk, config.level[i]));
		if (of)
			return of->id == bench;
	}
	return false;
}

static __always_inline __u32 fill4(struct __sk_buff *skb, struct bpf_sock_tuple *tuple)
{
	struct iphdr ip;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)) ||
	    bpf_skb_load_bytes(skb, sizeof(ip), &tuple->ipv4.sport, 4))
		return 0;
	tuple->ipv4.saddr = ip.saddr;
	tuple->ipv4.daddr = ip.daddr;
	return sizeof(tuple->ipv4);
}

static __always_inline __u32 fill6(struct __sk_buff *skb, struct bpf_sock_tuple *tuple)
{
	return bpf_skb_load_bytes(skb, offsetof(struct ipv6hdr, saddr), tuple->ipv6.saddr, 32) ||
			       bpf_skb_load_bytes(skb, sizeof(struct ipv6hdr), &tuple->ipv6.sport,
						  4)
		       ? 0
		       : sizeof(tuple->ipv6);
}

/* The socket that a packet on its way out leads to, to be released; *ret_read: it could be told. */
static __always_inline struct bpf_sock *other_end(struct __sk_buff *skb,
						  const struct bm_dest_key *key, bool *ret_read)
{
	bool v4 = skb->protocol == bpf_htons(0x0800);
	struct bpf_sock_tuple tuple = {};
	__u32 size = v4 ? fill4(skb, &tuple) : fill6(skb, &tuple);

	*ret_read = size;
	if (!size)
		return NULL;
	if (key->protocol == IPPROTO_TCP)
		return v4 ? bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS,
					      0)
			  : bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS,
					      0);
	return v4 ? bpf_sk_lookup_udp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0)
		  : bpf_sk_lookup_udp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
}

/*
 * For a plain packet of TCP or UDP. What a connection says that somebody outside has opened is an
 * answer. Where nobody listens it leads nowhere.
 */
static __always_inline bool leads_outside(struct __sk_buff *skb, const struct bm_dest_key *key)
{
	struct bpf_sock *sk;
	bool own, read;

	if (key->protocol == IPPROTO_TCP && !is_opening(skb, key))
		return false;
	sk = other_end(skb, key, &read);
	if (!sk)
		return !read;
	own = is_of(sk, key->bench);
	bpf_sk_release(sk);
	return !own;
}

/*
 * Who opens a connection to an endpoint's address meets the socket of that grant or nobody: not
 * another that has taken the address since, nor one in a network that the Bench has made itself.
 */
static __always_inline bool leads_to_endpoint(struct __sk_buff *skb, const struct bm_dest_key *key)
{
	const struct bm_dest *dest = bpf_map_lookup_elem(&destinations, key);
	const struct bm_endpoint *endpoint;
	struct bpf_sock *sk;
	bool ours, read;

	sk = other_end(skb, key, &read);
	if (!sk)
		return read;
	endpoint = bpf_sk_storage_get(&endpoints, sk, NULL, 0);
	ours = endpoint && dest && endpoint->bench == key->bench && endpoint->grant == dest->grant;
	bpf_sk_release(sk);
	return ours;
}

#endif
