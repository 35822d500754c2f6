/* SPDX-License-Identifier: GPL-2.0-only */
/* Where destinations lie, seen from one network namespace, and what a link needs to lead there. */
#ifndef BENCHMON_LINK_ROUTE_H
#define BENCHMON_LINK_ROUTE_H

#include "network/rtnl.h"

#define BM_UPLINKS_MAX 32

struct bm_ways {
	bool v4, v6;                 /* some of that family is reached */
	int uplinks[BM_UPLINKS_MAX]; /* indices of the interfaces that some of it lies beyond */
	size_t uplink_count;
};

/*
 * Asks for the route to each address of the list, over s. -EPERM: one of them is a Bench's, or no
 * one machine's. by_link: a link of ours is to lead there, so that IPv6 must be forwarded
 * (-EOPNOTSUPP). Of several, those without a route (-ENETUNREACH, -EHOSTUNREACH) or without
 * forwarding are passed over, unless all are. Changes nothing.
 */
int bm_ways_find(struct mnl_socket *s, const struct bm_destination *list, size_t count,
		 bool by_link, struct bm_ways *ret, struct bm_error *err);
/*
 * The other way: of those who may come in by a link of ours, whether each is the host. -EPERM. s is
 * the host's.
 */
int bm_ways_of_peers(struct mnl_socket *s, uint32_t bench, const struct bm_destination *list,
		     size_t count, struct bm_ways *ret, struct bm_error *err);

#endif
