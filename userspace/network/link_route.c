// SPDX-License-Identifier: GPL-2.0-only
#include "network/link_route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "network/link.h"
#include "network/sysctl.h"

struct looking {
	struct mnl_socket *s;
	bool by_link;
	struct bm_ways ways;
	const struct bm_destination *last; /* whose way is known, as of all of its ports */
	struct bm_interface out;           /* the last one that some lie beyond; index 0: none */
};

/* Many destinations lie beyond one interface: it is looked at once. */
static int look_at(struct looking *l, int index, const char *text, struct bm_error *err)
{
	struct bm_interface out = {};

	if (index == l->out.index)
		return 0;
	if (bm_rtnl_interface_at(l->s, index, &out) < 0)
		out = (struct bm_interface){ .index = index, .name = "?" };
	if (out.group == BM_LINK_GROUP)
		return bm_fail(err, EPERM, "no Bench reaches another", NULL,
			       "%s is the address of a Bench", text);
	l->out = out;
	return 0;
}

/* There is no forwarding for one interface, and the whole host's costs it its routers. */
static int check_forwarding(const struct looking *l, const char *text, struct bm_error *err)
{
	char remedy[192];
	int on = 0;

	bm_sysctl_read(AF_INET6, "all", "forwarding", &on);
	snprintf(remedy, sizeof(remedy),
		 "give an IPv4 address, or set net.ipv6.conf.%s.accept_ra=2 and then "
		 "net.ipv6.conf.all.forwarding=1",
		 l->out.name);
	return on ? 0
		  : bm_fail(err, EOPNOTSUPP, "benchmon does not turn on IPv6 forwarding", remedy,
			    "%s lies beyond %s, and this host does not forward IPv6", text,
			    l->out.name);
}

static int add_uplink(struct bm_ways *ways, int index, struct bm_error *err)
{
	for (size_t i = 0; i < ways->uplink_count; i++)
		if (ways->uplinks[i] == index)
			return 0;
	if (ways->uplink_count == BM_UPLINKS_MAX)
		return bm_fail(err, E2BIG, NULL, NULL,
			       "these destinations lie beyond more than %d interfaces",
			       BM_UPLINKS_MAX);
	ways->uplinks[ways->uplink_count++] = index;
	return 0;
}

static int find_one(struct looking *l, const struct bm_destination *d, struct bm_error *err)
{
	char text[BM_DESTINATION_LEN];
	struct bm_route route;
	int r;

	if (l->last && !memcmp(l->last->address, d->address, sizeof(d->address)))
		return 0;
	bm_destination_format(d, text);
	r = bm_rtnl_route_to(l->s, d, &route);
	if (r < 0)
		return bm_fail_errno(err, -r, "the host has no route to %s", text);
	if (route.type != RTN_LOCAL && route.type != RTN_UNICAST)
		return bm_fail(err, EPERM, "never sealed", "give the address of one machine",
			       "%s is a broadcast or multicast address here", text);
	if (route.type == RTN_UNICAST)
		r = look_at(l, route.oif, text, err);
	if (r == 0 && route.type == RTN_UNICAST && l->by_link && !bm_destination_is_v4(d))
		r = check_forwarding(l, text, err);
	if (r == 0 && route.type == RTN_UNICAST)
		r = add_uplink(&l->ways, route.oif, err);
	if (r < 0)
		return r;
	l->last = d;
	l->ways.v4 |= bm_destination_is_v4(d);
	l->ways.v6 |= !bm_destination_is_v4(d);
	return 0;
}

int bm_ways_find(struct mnl_socket *s, const struct bm_destination *list, size_t count,
		 bool by_link, struct bm_ways *ret, struct bm_error *err)
{
	struct looking l = { .s = s, .by_link = by_link };
	struct bm_error none = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct bm_error one = {};

		r = find_one(&l, &list[i], &one);
		if (r < 0)
			none = one;
		/* No reason to refuse the others: most names have IPv6 addresses too, and few hosts
		 * forward IPv6. */
		if (count > 1 && (r == -ENETUNREACH || r == -EHOSTUNREACH || r == -EOPNOTSUPP))
			r = 0;
	}
	if (r < 0 || (count && !l.last)) {
		if (err)
			*err = none;
		return -none.code;
	}
	*ret = l.ways;
	return 0;
}

int bm_link_reachable(int netns, const struct bm_destination *list, size_t count,
		      struct bm_error *err)
{
	autonetlink *s = NULL;
	struct bm_ways ways;
	int r = bm_netlink_open(netns, NETLINK_ROUTE, &s, err);

	return r < 0 ? r : bm_ways_find(s, list, count, false, &ways, err);
}

int bm_link_possible(const struct bm_destination *d, struct bm_error *err)
{
	autonetlink *host = NULL;
	struct bm_ways ways;
	int r = bm_netlink_open(-1, NETLINK_ROUTE, &host, err);

	return r < 0 ? r : bm_ways_find(host, d, 1, true, &ways, err);
}

int bm_link_beyond(const struct bm_destination *list, size_t count)
{
	const struct bm_destination *last = NULL;
	autonetlink *host = NULL;
	struct bm_route route;

	if (bm_netlink_open(-1, NETLINK_ROUTE, &host, NULL) < 0)
		return AF_UNSPEC;
	for (size_t i = 0; i < count; last = &list[i++]) {
		if (last && !memcmp(last->address, list[i].address, sizeof(last->address)))
			continue;
		if (bm_rtnl_route_to(host, &list[i], &route) == 0 && route.type != RTN_LOCAL)
			return bm_destination_is_v4(&list[i]) ? AF_INET : AF_INET6;
	}
	return AF_UNSPEC;
}
