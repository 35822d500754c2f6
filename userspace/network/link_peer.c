// SPDX-License-Identifier: GPL-2.0-only
/* Who comes to a Bench by its link. */
#include <errno.h>
#include <linux/rtnetlink.h>

#include "network/link.h"
#include "network/link_route.h"
#include "network/peer.h"

/* Nobody beyond the host has a way to a link, and none is made: NAT leads out of it alone. */
static int check_peer(struct mnl_socket *host, uint32_t bench, const struct bm_destination *d,
		      struct bm_error *err)
{
	struct bm_destination end = *d;
	char text[INET6_ADDRSTRLEN];
	struct bm_route route;

	bm_peer_of_link(bench, bm_destination_is_v4(d), true, &end);
	if (bm_destination_equal(&end, d) ||
	    (bm_rtnl_route_to(host, d, &route) == 0 && route.type == RTN_LOCAL))
		return 0;
	return bm_fail(err, EPERM, "listen",
		       "name an address of the host's, or none; a proxy there can pass others on",
		       "%s is not this host, and from elsewhere nothing reaches a Bench's link",
		       bm_peer_format(d, text));
}

int bm_link_peer(uint32_t bench, const struct bm_destination *d, struct bm_error *err)
{
	autonetlink *host = NULL;
	int r = bm_netlink_open(-1, NETLINK_ROUTE, &host, err);

	return r < 0 ? r : check_peer(host, bench, d, err);
}

int bm_ways_of_peers(struct mnl_socket *s, uint32_t bench, const struct bm_destination *list,
		     size_t count, struct bm_ways *ret, struct bm_error *err)
{
	struct bm_ways ways = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		bool v4 = bm_destination_is_v4(&list[i]);

		r = check_peer(s, bench, &list[i], err);
		ways.v4 |= v4;
		ways.v6 |= !v4;
	}
	if (r == 0)
		*ret = ways;
	return r;
}
