// SPDX-License-Identifier: GPL-2.0-only
#include "network/link.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "network/rtnl.h"

/*
 * Every namespace gets these, down, once their module is loaded (net.core.fb_tunnels_only_for_
 * init_net=0). They lead nowhere until somebody configures them.
 */
static bool is_fallback_tunnel(const struct bm_interface *i)
{
	static const char *const names[] = { "tunl0",   "sit0",     "gre0",    "gretap0", "erspan0",
					     "ip_vti0", "ip6_vti0", "ip6tnl0", "ip6gre0" };

	if (i->flags & IFF_UP)
		return false;
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		if (strcmp(i->name, names[n]) == 0)
			return true;
	return false;
}

static int foreign(const struct bm_interface *i, void *arg)
{
	const int *own = arg;

	return !(i->flags & IFF_LOOPBACK) && i->index != *own && !is_fallback_tunnel(i);
}

int bm_link_foreign(int netns, uint32_t bench, bool *ret, struct bm_error *err)
{
	autonetlink *host = NULL, *inside = NULL;
	struct bm_interface end = {};
	char name[IF_NAMESIZE];
	int nsid = -1, own = 0, r;

	r = bm_netlink_open(-1, NETLINK_ROUTE, &host, err);
	if (r == 0)
		r = bm_netlink_open(netns, NETLINK_ROUTE, &inside, err);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "bm%u", bench);
	r = bm_rtnl_interface(host, name, &end);
	/* Asked after the interface: listing it is what gives the other namespace its number. */
	if (r == 0)
		r = bm_rtnl_nsid(host, netns, &nsid);
	if (r < 0 && r != -ENODEV)
		return bm_fail_errno(err, -r, "looking for interface %s", name);
	if (r == 0 && end.group == BM_LINK_GROUP && nsid >= 0 && end.peer_nsid == nsid)
		own = end.peer;
	r = bm_rtnl_interfaces(inside, foreign, NULL, &own);
	if (r < 0)
		return bm_fail_errno(err, -r, "listing the Bench's interfaces");
	*ret = r;
	return 0;
}
