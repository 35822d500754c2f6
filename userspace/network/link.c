// SPDX-License-Identifier: GPL-2.0-only
#include "network/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "network/host.h"
#include "network/link_route.h"
#include "network/rtnl.h"
#include "network/sysctl.h"

#define BENCH_END "eth0"

struct link {
	int netns;
	struct mnl_socket *host;
	struct bm_interface end; /* on the host; index 0: not there */
	char name[IF_NAMESIZE];
	struct bm_pair pairs[2]; /* one of each family that is needed */
	size_t pair_count;
};

/*
 * The Bench must not become a router of the host's by advertisement or redirect, nor send what
 * claims to come from elsewhere (rp_filter: the way back of its address is this link).
 */
static const struct bm_sysctl host_sysctls[] = {
	{ AF_INET, "rp_filter", 1 },
	{ AF_INET, "accept_redirects", 0 },
	{ AF_INET, "secure_redirects", 0 },
	{ AF_INET, "send_redirects", 0 },
	{ AF_INET, "accept_source_route", 0 },
	{ AF_INET, "route_localnet", 0 },
	{ AF_INET, "proxy_arp", 0 },
	{ AF_INET6, "accept_ra", 0 },
	{ AF_INET6, "accept_redirects", 0 },
	{ AF_INET6, "autoconf", 0 },
	{ AF_INET6, "proxy_ndp", 0 },
	/*
	 * The link-local address stays: neighbour solicitations for what is forwarded to the Bench
	 * come from it. Probing it first would cost the link its first second.
	 */
	{ AF_INET6, "accept_dad", 0 },
};

static const struct bm_sysctl bench_sysctls[] = {
	{ AF_INET, "accept_redirects", 0 },  { AF_INET6, "accept_ra", 0 },
	{ AF_INET6, "accept_redirects", 0 }, { AF_INET6, "autoconf", 0 },
	{ AF_INET6, "addr_gen_mode", 1 },
};

static int bench_quiet(void *arg, struct bm_error *err)
{
	(void)arg;
	return bm_sysctl_write_all(BENCH_END, bench_sysctls,
				   sizeof(bench_sysctls) / sizeof(bench_sysctls[0]), err);
}

static void link_name(uint32_t bench, char ret[IF_NAMESIZE])
{
	snprintf(ret, IF_NAMESIZE, "bm%u", bench);
}

struct bm_nft bm_link_nft(uint32_t bench)
{
	struct bm_nft nft = { .netns = -1 };

	link_name(bench, nft.link);
	snprintf(nft.table, sizeof(nft.table), "benchmon_%s", nft.link);
	return nft;
}

bool bm_link_there(uint32_t bench)
{
	char name[IF_NAMESIZE];

	link_name(bench, name);
	return if_nametoindex(name) != 0;
}

/* Finds the host end; 0 also when there is none. Never mistakes another's interface for ours. */
static int find_end(struct link *l, uint32_t bench, struct bm_error *err)
{
	int r;

	link_name(bench, l->name);
	r = bm_rtnl_interface(l->host, l->name, &l->end);
	if (r == -ENODEV)
		return 0;
	if (r < 0)
		return bm_fail_errno(err, -r, "looking for interface %s", l->name);
	if (l->end.group != BM_LINK_GROUP || strcmp(l->end.kind, "veth") != 0) {
		l->end.index = 0;
		return bm_fail(err, EEXIST, "bm* interfaces are links of Benches", "rename it",
			       "the host has an interface %s that benchmon did not make", l->name);
	}
	return 0;
}

static int check_own(const struct link *l, struct bm_error *err)
{
	int nsid, r = bm_rtnl_nsid(l->host, l->netns, &nsid);

	if (r < 0)
		return bm_fail_errno(err, -r, "looking up the Bench's network namespace");
	if (nsid < 0 || nsid != l->end.peer_nsid)
		return bm_fail(err, EEXIST, NULL, "destroy the Bench that it belongs to",
			       "interface %s leads to another network namespace", l->name);
	return 0;
}

static int check_pool(const struct link *l, const struct bm_pair *pair, struct bm_error *err)
{
	char name[IF_NAMESIZE] = "no interface", own[INET6_ADDRSTRLEN], other[INET6_ADDRSTRLEN];
	bool v4 = pair->family == AF_INET;
	struct bm_interface oif = {};
	struct bm_clash clash;
	char remedy[160];
	int r;

	r = bm_rtnl_clash(l->host, pair, l->end.index, &clash);
	if (r < 0)
		return bm_fail_errno(err, -r, "listing the host's routes");
	if (!clash.found)
		return 0;
	if (clash.oif && if_indextoname((unsigned int)clash.oif, name))
		bm_rtnl_interface(l->host, name, &oif);
	inet_ntop(pair->family, pair->host, own, sizeof(own));
	inet_ntop(pair->family, clash.address, other, sizeof(other));
	if (oif.group == BM_LINK_GROUP)
		snprintf(remedy, sizeof(remedy), "destroy the Bench that has the link %s", name);
	else
		snprintf(remedy, sizeof(remedy),
			 "give that network other addresses: links have theirs from %s",
			 v4 ? BM_POOL4_TEXT : BM_POOL6_TEXT);
	return bm_fail(err, EADDRINUSE, "the link of a Bench has addresses of its own", remedy,
		       "%s/%u, wanted for %s, is in use by %s: the host has a route to %s/%u there",
		       own, pair->prefix, l->name, name, other, clash.prefix);
}

static int make(struct link *l, struct bm_error *err)
{
	int r = bm_rtnl_veth(l->host, l->name, BENCH_END, l->netns);

	if (r == -EEXIST)
		return bm_fail(err, EEXIST, NULL, NULL, "the Bench already has an interface %s",
			       BENCH_END);
	if (r == 0)
		r = bm_rtnl_interface(l->host, l->name, &l->end);
	if (r < 0)
		return bm_fail_errno(err, -r, "making the veth pair %s", l->name);
	return bm_sysctl_write(AF_INET, l->name, "forwarding", 0, err);
}

static int give_address(const struct link *l, struct mnl_socket *bench, const struct bm_pair *pair,
			struct bm_error *err)
{
	int r = bm_rtnl_address(l->host, l->end.index, pair, true);

	if (r == 0)
		r = bm_rtnl_address(bench, l->end.peer, pair, false);
	if (r < 0)
		return bm_fail_errno(err, -r, "giving %s its IPv%d address", l->name,
				     pair->family == AF_INET ? 4 : 6);
	r = bm_rtnl_default_route(bench, l->end.peer, pair);
	return r < 0 ? bm_fail_errno(err, -r, "default route of the Bench") : 0;
}

/* Each step may have been done before; the addresses come after IFF_UP, or IPv6 loses them. */
static int configure(const struct link *l, struct bm_error *err)
{
	autonetlink *bench = NULL;
	int r;

	r = bm_sysctl_write_all(l->name, host_sysctls,
				sizeof(host_sysctls) / sizeof(host_sysctls[0]), err);
	if (r == 0)
		r = bm_netns_run(l->netns, bench_quiet, NULL, err);
	if (r == 0)
		r = bm_netlink_open(l->netns, NETLINK_ROUTE, &bench, err);
	if (r < 0)
		return r;
	r = bm_rtnl_up(l->host, l->end.index);
	if (r == 0)
		r = bm_rtnl_up(bench, l->end.peer);
	if (r < 0)
		return bm_fail_errno(err, -r, "bringing up %s", l->name);
	for (size_t i = 0; r == 0 && i < l->pair_count; i++)
		r = give_address(l, bench, &l->pairs[i], err);
	return r;
}

static int first_link(const struct bm_interface *i, void *arg)
{
	if (i->group != BM_LINK_GROUP)
		return 0;
	snprintf(arg, IF_NAMESIZE, "%s", i->name);
	return 1;
}

bool bm_link_any(char ret[IF_NAMESIZE])
{
	autonetlink *host = NULL;

	return bm_netlink_open(-1, NETLINK_ROUTE, &host, NULL) == 0 &&
	       bm_rtnl_interfaces(host, first_link, NULL, ret) == 1;
}

static int count_link(const struct bm_interface *i, void *arg)
{
	*(size_t *)arg += i->group == BM_LINK_GROUP;
	return 0;
}

static void count_reset(void *arg)
{
	*(size_t *)arg = 0;
}

static int release_if_last(struct mnl_socket *host, struct bm_error *err)
{
	size_t links = 0;
	int r = bm_rtnl_interfaces(host, count_link, count_reset, &links);

	if (r < 0)
		return bm_fail_errno(err, -r, "listing the host's interfaces");
	return links ? 0 : bm_host_release(err);
}

/* What is there, and what is in the way; nothing is changed. */
static int look(struct link *l, uint32_t bench, const struct bm_destination *list, size_t count,
		struct bm_ways *ret, struct bm_error *err)
{
	int r = find_end(l, bench, err);

	if (r == 0 && l->end.index)
		r = check_own(l, err);
	if (r == 0)
		r = list->listens ? bm_ways_of_peers(l->host, bench, list, count, ret, err)
				  : bm_ways_find(l->host, list, count, true, ret, err);
	if (r < 0)
		return r;
	if (ret->v4)
		l->pairs[l->pair_count++] = bm_pool_pair(AF_INET, bench);
	if (ret->v6)
		l->pairs[l->pair_count++] = bm_pool_pair(AF_INET6, bench);
	for (size_t i = 0; r == 0 && i < l->pair_count; i++)
		r = check_pool(l, &l->pairs[i], err);
	return r;
}

int bm_link_setup(int netns, uint32_t bench, const struct bm_destination *list, size_t count,
		  struct bm_error *err)
{
	struct bm_nft nft = bm_link_nft(bench);
	struct link l = { .netns = netns };
	autonetlink *host = NULL;
	struct bm_ways ways = {};
	autoclose lock = -1;
	int fd = -1, r;
	bool found;

	if (!count)
		return 0;
	r = bm_host_lock(&fd, err);
	lock = fd;
	if (r == 0)
		r = bm_netlink_open(-1, NETLINK_ROUTE, &host, err);
	l.host = host;
	if (r == 0)
		r = look(&l, bench, list, count, &ways, err);
	if (r < 0)
		return r;
	found = l.end.index;

	/* The tables are there before the link is, and forwarding comes when all the rest stands.
	 */
	r = bm_host_protect(err);
	if (r == 0 && !found)
		r = bm_nft_setup(&nft, err);
	if (r == 0 && !found)
		r = make(&l, err);
	if (r == 0)
		r = configure(&l, err);
	for (size_t i = 0; r == 0 && i < ways.uplink_count; i++)
		r = bm_host_forward(l.name, ways.uplinks[i], err);
	if (r < 0) {
		if (!found && l.end.index)
			bm_rtnl_delete(host, l.end.index);
		if (!found)
			bm_nft_destroy(&nft, NULL);
		release_if_last(host, NULL);
	}
	return r;
}

int bm_link_destroy(uint32_t bench, struct bm_error *err)
{
	struct bm_nft nft = bm_link_nft(bench);
	autonetlink *host = NULL;
	struct link l = {};
	autoclose lock = -1;
	int fd = -1, r;

	r = bm_host_lock(&fd, err);
	lock = fd;
	if (r == 0)
		r = bm_netlink_open(-1, NETLINK_ROUTE, &host, err);
	l.host = host;
	if (r == 0)
		r = find_end(&l, bench, err);
	if (r < 0)
		return r;
	r = l.end.index ? bm_rtnl_delete(host, l.end.index) : 0;
	/* The namespace may end at the same moment, and takes the pair with it. */
	if (r < 0 && r != -ENODEV)
		return bm_fail_errno(err, -r, "deleting %s", l.name);
	r = bm_nft_destroy(&nft, err);
	return r < 0 ? r : release_if_last(host, err);
}
