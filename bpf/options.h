/* SPDX-License-Identifier: GPL-2.0-only */
/* Socket options that lead a packet elsewhere than to its destination, or make one of their own. */
#ifndef BENCHMON_BPF_OPTIONS_H
#define BENCHMON_BPF_OPTIONS_H

#include "maps.h"

#define SOL_SOCKET 1
#define SO_BINDTODEVICE 25
#define SO_BINDTOIFINDEX 62
#define SOL_IP 0
#define IP_OPTIONS_ 4
#define IP_FREEBIND_ 15
#define IP_MULTICAST_IF_ 32
#define IP_ADD_MEMBERSHIP_ 35
#define IP_ADD_SOURCE_MEMBERSHIP_ 39
#define IP_UNICAST_IF_ 50
#define SOL_IPV6 41
#define IPV6_2292PKTOPTIONS 6
#define IPV6_MULTICAST_IF_ 17
#define IPV6_ADD_MEMBERSHIP_ 20
#define IPV6_JOIN_ANYCAST_ 27
#define IPV6_PKTINFO_ 50
#define IPV6_HOPOPTS_ 54
#define IPV6_RTHDRDSTOPTS_ 55
#define IPV6_RTHDR_ 57
#define IPV6_DSTOPTS_ 59
#define IPV6_UNICAST_IF_ 76
#define IPV6_FREEBIND_ 78
#define MCAST_JOIN_GROUP_ 42
#define MCAST_JOIN_SOURCE_GROUP_ 46

/*
 * The reports that make a member of a group go to an address of the Bench's choice, and belong to
 * no socket: no cgroup program and no nft match of one would see them.
 */
static __always_inline bool joins_group(int level, int option)
{
	if (option == MCAST_JOIN_GROUP_ || option == MCAST_JOIN_SOURCE_GROUP_)
		return level == SOL_IP || level == SOL_IPV6;
	if (level == SOL_IP)
		return option == IP_ADD_MEMBERSHIP_ || option == IP_ADD_SOURCE_MEMBERSHIP_;
	return level == SOL_IPV6 &&
	       (option == IPV6_ADD_MEMBERSHIP_ || option == IPV6_JOIN_ANYCAST_);
}

/*
 * Another hop, or another link, where the same address is another machine. And another's address as
 * the source, which IPv6 then sends: the answer goes there.
 */
static __always_inline bool leads_elsewhere(int level, int option)
{
	if (level == SOL_IP)
		return option == IP_OPTIONS_ || option == IP_UNICAST_IF_ || option == IP_FREEBIND_;
	if (level == SOL_IPV6)
		return option == IPV6_2292PKTOPTIONS || option == IPV6_HOPOPTS_ ||
		       option == IPV6_RTHDRDSTOPTS_ || option == IPV6_RTHDR_ ||
		       option == IPV6_DSTOPTS_ || option == IPV6_UNICAST_IF_ ||
		       option == IPV6_PKTINFO_ || option == IPV6_FREEBIND_;
	return level == SOL_SOCKET && (option == SO_BINDTODEVICE || option == SO_BINDTOIFINDEX);
}

/* It fails or not by which links and addresses there are: of a shared network, others'. */
static __always_inline bool tells_of_links(int level, int option)
{
	return (level == SOL_IP && option == IP_MULTICAST_IF_) ||
	       (level == SOL_IPV6 && option == IPV6_MULTICAST_IF_);
}

/* flags: enum bm_bench_flags. */
static __always_inline __u32 option_rule(int level, int option, __u32 flags)
{
	if (leads_elsewhere(level, option) || joins_group(level, option))
		return BM_RULE_SOCKET_OPTION;
	return flags & BM_BENCH_SHARED_NET && tells_of_links(level, option) ? BM_RULE_SHARED
									    : BM_RULE_NONE;
}

#endif
