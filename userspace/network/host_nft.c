// SPDX-License-Identifier: GPL-2.0-only
#include "network/host.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/rtnetlink.h>

#include "network/netlink.h"
#include "network/nft_rule.h"
#include "network/rtnl.h"

#define TABLE "benchmon_host"
#define FORWARD "forward"
#define POSTROUTING "postrouting"
#define PREROUTING "prerouting"
#define UPLINKS "uplinks"

#define CT_ESTABLISHED_RELATED 6 /* bits 1 and 2, by enum ip_conntrack_info */

#define FROM_BENCH BM_META(IIFGROUP, 0), BM_CMP_NATIVE(EQ, 0, BM_LINK_GROUP)
#define TO_BENCH BM_META(OIFGROUP, 0), BM_CMP_NATIVE(EQ, 0, BM_LINK_GROUP)
#define NOT_TO_BENCH BM_META(OIFGROUP, 0), BM_CMP_NATIVE(NEQ, 0, BM_LINK_GROUP)
#define FROM_UPLINK                                                                                \
	BM_META(NFPROTO, 0), BM_CMP(EQ, 0, 1, NFPROTO_IPV4), BM_META(IIF, 0), BM_LOOKUP(UPLINKS)
#define IS_TYPE(type) BM_CMP_NATIVE(EQ, 0, type)
#define REFUSE BM_COUNTER, BM_DROP

/* What is not forwarded here may still be dropped by others: an accept of ours binds nobody. */
static const struct bm_chain forward = { FORWARD, "filter", NF_INET_FORWARD, 0, NF_ACCEPT };
static const struct bm_chain postrouting = { POSTROUTING, "nat", NF_INET_POST_ROUTING,
					     NF_IP_PRI_NAT_SRC, NF_ACCEPT };
static const struct bm_chain prerouting = { PREROUTING, "filter", NF_INET_PRE_ROUTING,
					    NF_IP_PRI_RAW, NF_ACCEPT };
static const struct bm_set uplink_set = { UPLINKS, BM_TYPE_IFINDEX, 4, 1, 0, 0 };

/*
 * While all destinations are the host's own addresses. Neither connection tracking nor NAT is
 * named here: naming them turns tracking on for every packet of the host.
 */
static const struct bm_rule closed[] = {
	{ FORWARD, { FROM_BENCH, REFUSE } },
	{ FORWARD, { TO_BENCH, REFUSE } },
};

static const struct bm_rule open[] = {
	{ FORWARD, { FROM_BENCH, TO_BENCH, REFUSE } },
	{ FORWARD,
	  { TO_BENCH, BM_CT_STATE(0), BM_MASK_NATIVE(0, CT_ESTABLISHED_RELATED),
	    BM_CMP_NATIVE(EQ, 0, 0), REFUSE } },
	/*
	 * Forwarding that was off stays off for all but the Benches: before the address of an
	 * answer is translated back, what comes in there is for the host or for nobody. Were it
	 * dropped where it is forwarded, whoever sent it would be told of another way, or of a time
	 * to live that ended. Of IPv6 nothing was turned on.
	 */
	{ PREROUTING, { FROM_UPLINK, BM_ROUTE_TYPE(0), IS_TYPE(RTN_LOCAL), BM_ACCEPT } },
	{ PREROUTING, { FROM_UPLINK, BM_ROUTE_TYPE(0), IS_TYPE(RTN_BROADCAST), BM_ACCEPT } },
	{ PREROUTING, { FROM_UPLINK, BM_ROUTE_TYPE(0), IS_TYPE(RTN_MULTICAST), BM_ACCEPT } },
	{ PREROUTING, { FROM_UPLINK, REFUSE } },
	{ FORWARD, { FROM_UPLINK, NOT_TO_BENCH, REFUSE } },
	/* By where it came from, not by source address: a forged one is translated as well. */
	{ POSTROUTING, { FROM_BENCH, NOT_TO_BENCH, BM_MASQUERADE } },
};

int bm_host_nft_set(const int *uplinks, size_t count, bool forwarding, struct bm_error *err)
{
	autonetlink *s = NULL;
	autobatch b = {};
	int r = bm_netlink_open(-1, NETLINK_NETFILTER, &s, err);

	if (r == 0)
		r = bm_batch_init(&b, TABLE, err);
	if (r < 0)
		return r;
	bm_batch_add_table(&b);
	bm_batch_delete_table(&b);
	bm_batch_add_table(&b);
	bm_batch_add_chain(&b, &forward);
	if (forwarding) {
		bm_batch_add_set(&b, &uplink_set);
		bm_batch_add_elements(&b, UPLINKS, uplinks, sizeof(*uplinks), count);
		bm_batch_add_chain(&b, &postrouting);
		bm_batch_add_chain(&b, &prerouting);
		bm_batch_add_rules(&b, open, sizeof(open) / sizeof(open[0]));
	} else {
		bm_batch_add_rules(&b, closed, sizeof(closed) / sizeof(closed[0]));
	}
	return bm_batch_send(&b, s, 0, err);
}

int bm_host_nft_destroy(struct bm_error *err)
{
	autonetlink *s = NULL;
	autobatch b = {};
	int r = bm_netlink_open(-1, NETLINK_NETFILTER, &s, err);

	if (r == 0)
		r = bm_batch_init(&b, TABLE, err);
	if (r < 0)
		return r;
	bm_batch_delete_table(&b);
	return bm_batch_send(&b, s, ENOENT, err);
}
