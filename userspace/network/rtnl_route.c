// SPDX-License-Identifier: GPL-2.0-only
#include "network/rtnl.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>

static void put_address(struct nlmsghdr *nlh, uint16_t type, const struct bm_pair *pair, bool host)
{
	mnl_attr_put(nlh, type, pair->len, host ? pair->host : pair->bench);
}

int bm_rtnl_address(struct mnl_socket *s, int index, const struct bm_pair *pair, bool host)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));

	nlh->nlmsg_type = RTM_NEWADDR;
	nlh->nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE;
	ifa->ifa_family = (uint8_t)pair->family;
	ifa->ifa_prefixlen = pair->prefix;
	ifa->ifa_index = (unsigned int)index;
	/* Nobody else is on the link, and an address still being probed refuses to bind. */
	ifa->ifa_flags = pair->family == AF_INET6 ? IFA_F_NODAD : 0;
	put_address(nlh, IFA_LOCAL, pair, host);
	put_address(nlh, IFA_ADDRESS, pair, host);
	return bm_netlink_ask(s, nlh, NULL, NULL);
}

static struct nlmsghdr *route_message(char *buf, uint16_t type, uint16_t flags, int family)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	rtm->rtm_family = (uint8_t)family;
	return nlh;
}

int bm_rtnl_default_route(struct mnl_socket *s, int index, const struct bm_pair *pair)
{
	char buf[256];
	struct nlmsghdr *nlh =
		route_message(buf, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, pair->family);
	struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);

	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = RTPROT_STATIC;
	rtm->rtm_scope = RT_SCOPE_UNIVERSE;
	rtm->rtm_type = RTN_UNICAST;
	put_address(nlh, RTA_GATEWAY, pair, true);
	mnl_attr_put_u32(nlh, RTA_OIF, (uint32_t)index);
	return bm_netlink_ask(s, nlh, NULL, NULL);
}

static int got_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	struct bm_route *route = arg;
	const struct nlattr *attr;

	route->type = rtm->rtm_type;
	mnl_attr_for_each(attr, nlh, sizeof(*rtm))
		if (mnl_attr_get_type(attr) == RTA_OIF)
			route->oif = (int)mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

int bm_rtnl_route_to(struct mnl_socket *s, const struct bm_destination *d, struct bm_route *ret)
{
	bool v4 = bm_destination_is_v4(d);
	uint8_t len = v4 ? 4 : 16;
	char buf[256];
	struct nlmsghdr *nlh = route_message(buf, RTM_GETROUTE, 0, v4 ? AF_INET : AF_INET6);
	struct bm_route route = { 0 };
	int r;

	((struct rtmsg *)mnl_nlmsg_get_payload(nlh))->rtm_dst_len = (uint8_t)(len * 8);
	mnl_attr_put(nlh, RTA_DST, len, d->address + 16 - len);
	r = bm_netlink_ask(s, nlh, got_route, &route);
	if (r == 0)
		*ret = route;
	return r;
}

struct clash {
	const struct bm_pair *pair;
	int index;
	struct bm_clash is;
};

static void clash_reset(void *arg)
{
	struct clash *clash = arg;

	clash->is.found = false;
}

static bool overlaps(const struct bm_pair *pair, const uint8_t *address, unsigned int prefix)
{
	unsigned int bits = prefix < pair->prefix ? prefix : pair->prefix;
	unsigned int bytes = bits / 8, rest = bits % 8;

	return !memcmp(pair->host, address, bytes) &&
	       (!rest || !((pair->host[bytes] ^ address[bytes]) >> (8 - rest)));
}

static int each_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	const uint8_t *address = NULL;
	struct clash *clash = arg;
	const struct nlattr *attr;
	int oif = 0;

	mnl_attr_for_each(attr, nlh, sizeof(*rtm)) {
		if (mnl_attr_get_type(attr) == RTA_OIF)
			oif = (int)mnl_attr_get_u32(attr);
		if (mnl_attr_get_type(attr) == RTA_DST &&
		    mnl_attr_get_payload_len(attr) == clash->pair->len)
			address = mnl_attr_get_payload(attr);
	}
	if (clash->is.found || !address || rtm->rtm_family != clash->pair->family ||
	    (clash->index && oif == clash->index))
		return MNL_CB_OK;
	/*
	 * A wider route (the default, a company's 10.0.0.0/8) only says where the unknown goes;
	 * one as narrow as the pool says that somebody uses these addresses.
	 */
	if (rtm->rtm_dst_len < (clash->pair->family == AF_INET ? 16 : 48))
		return MNL_CB_OK;
	if (overlaps(clash->pair, address, rtm->rtm_dst_len)) {
		clash->is =
			(struct bm_clash){ .found = true, .prefix = rtm->rtm_dst_len, .oif = oif };
		memcpy(clash->is.address, address, clash->pair->len);
	}
	return MNL_CB_OK;
}

int bm_rtnl_clash(struct mnl_socket *s, const struct bm_pair *pair, int index, struct bm_clash *ret)
{
	struct clash clash = { .pair = pair, .index = index };
	char buf[256];
	struct nlmsghdr *nlh = route_message(buf, RTM_GETROUTE, 0, pair->family);
	int r = bm_netlink_dump(s, nlh, each_route, &clash, clash_reset);

	if (r < 0)
		return r;
	*ret = clash.is;
	return 0;
}
