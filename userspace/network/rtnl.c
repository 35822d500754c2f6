// SPDX-License-Identifier: GPL-2.0-only
#include "network/rtnl.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

static void parse_kind(const struct nlattr *info, struct bm_interface *i)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, info)
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			snprintf(i->kind, sizeof(i->kind), "%s", mnl_attr_get_str(attr));
}

static struct bm_interface parse_interface(const struct nlmsghdr *nlh)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct bm_interface i = {
		.index = ifi->ifi_index,
		.flags = ifi->ifi_flags,
		.peer_nsid = -1,
	};
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(*ifi)) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_IFNAME:
			snprintf(i.name, sizeof(i.name), "%s", mnl_attr_get_str(attr));
			break;
		case IFLA_GROUP:
			i.group = mnl_attr_get_u32(attr);
			break;
		case IFLA_LINK:
			i.peer = (int)mnl_attr_get_u32(attr);
			break;
		case IFLA_LINK_NETNSID:
			i.peer_nsid = (int)mnl_attr_get_u32(attr);
			break;
		case IFLA_LINKINFO:
			parse_kind(attr, &i);
			break;
		}
	}
	return i;
}

static struct nlmsghdr *link_message(char *buf, uint16_t type, uint16_t flags, int index)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = index;
	return nlh;
}

static int got_interface(const struct nlmsghdr *nlh, void *arg)
{
	*(struct bm_interface *)arg = parse_interface(nlh);
	return MNL_CB_OK;
}

int bm_rtnl_interface(struct mnl_socket *s, const char *name, struct bm_interface *ret)
{
	char buf[256];
	struct nlmsghdr *nlh = link_message(buf, RTM_GETLINK, 0, 0);

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	return bm_netlink_ask(s, nlh, got_interface, ret);
}

int bm_rtnl_interface_at(struct mnl_socket *s, int index, struct bm_interface *ret)
{
	char buf[256];

	return bm_netlink_ask(s, link_message(buf, RTM_GETLINK, 0, index), got_interface, ret);
}

struct each {
	int (*fn)(const struct bm_interface *i, void *arg);
	void (*reset)(void *arg);
	void *arg;
	int result;
};

static void each_reset(void *arg)
{
	struct each *each = arg;

	each->result = 0;
	if (each->reset)
		each->reset(each->arg);
}

/* Once fn has spoken the rest of the dump is read and ignored, to leave the socket clean. */
static int each_interface(const struct nlmsghdr *nlh, void *arg)
{
	struct bm_interface i = parse_interface(nlh);
	struct each *each = arg;

	if (!each->result)
		each->result = each->fn(&i, each->arg);
	return MNL_CB_OK;
}

int bm_rtnl_interfaces(struct mnl_socket *s, int (*fn)(const struct bm_interface *i, void *arg),
		       void (*reset)(void *arg), void *arg)
{
	struct each each = { .fn = fn, .reset = reset, .arg = arg };
	char buf[256];
	struct nlmsghdr *nlh = link_message(buf, RTM_GETLINK, 0, 0);
	int r;

	r = bm_netlink_dump(s, nlh, each_interface, &each, each_reset);
	return r < 0 ? r : each.result;
}

static int got_nsid(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct rtgenmsg))
		if (mnl_attr_get_type(attr) == NETNSA_NSID)
			*(int *)arg = (int)mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

int bm_rtnl_nsid(struct mnl_socket *s, int netns, int *ret)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int nsid = -1, r;

	nlh->nlmsg_type = RTM_GETNSID;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
	mnl_attr_put_u32(nlh, NETNSA_FD, (uint32_t)netns);
	r = bm_netlink_ask(s, nlh, got_nsid, &nsid);
	if (r == 0)
		*ret = nsid;
	return r;
}

int bm_rtnl_veth(struct mnl_socket *s, const char *name, const char *peer, int netns)
{
	char buf[512];
	struct nlmsghdr *nlh = link_message(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
	struct nlattr *info, *data, *other;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	mnl_attr_put_u32(nlh, IFLA_GROUP, BM_LINK_GROUP);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	other = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(nlh, IFLA_IFNAME, peer);
	mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, (uint32_t)netns);
	mnl_attr_nest_end(nlh, other);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return bm_netlink_ask(s, nlh, NULL, NULL);
}

int bm_rtnl_up(struct mnl_socket *s, int index)
{
	char buf[128];
	struct nlmsghdr *nlh = link_message(buf, RTM_NEWLINK, 0, index);
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	ifi->ifi_flags = IFF_UP;
	ifi->ifi_change = IFF_UP;
	return bm_netlink_ask(s, nlh, NULL, NULL);
}

int bm_rtnl_delete(struct mnl_socket *s, int index)
{
	char buf[128];

	return bm_netlink_ask(s, link_message(buf, RTM_DELLINK, 0, index), NULL, NULL);
}
