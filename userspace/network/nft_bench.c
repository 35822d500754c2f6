// SPDX-License-Identifier: GPL-2.0-only
#include "network/nft_bench.h"

#include <linux/netfilter.h>
#include <netinet/in.h>

#include "network/nft_rule.h"

#define OUT "out"
#define IN "in"
#define FORWARD "forward" /* "fwd" is a word of nft(8)'s own, whose listing could not be read back */

#define LOOPBACK_IFINDEX 1 /* in every namespace */
#define HOP_LIMIT_MAX 255
#define ND_SOLICIT 135
#define ND_ADVERT 136

#define IS_V4 BM_META(NFPROTO, 0), BM_CMP(EQ, 0, 1, NFPROTO_IPV4)
#define IS_V6 BM_META(NFPROTO, 0), BM_CMP(EQ, 0, 1, NFPROTO_IPV6)
#define IS_ND(type)                                                                                \
	IS_V6, BM_PAYLOAD(NETWORK, 6, 1, 0), BM_CMP(EQ, 0, 1, IPPROTO_ICMPV6),                     \
		BM_PAYLOAD(TRANSPORT, 0, 1, 0), BM_CMP(EQ, 0, 1, type)
#define REFUSE BM_COUNTER, BM_DROP

static const struct bm_set sets[] = {
	{ BM_NFT_SET4, BM_TYPE_IPV4 << 12 | BM_TYPE_PROTOCOL << 6 | BM_TYPE_SERVICE,
	  BM_NFT_KEY4_LEN, 1 },
	{ BM_NFT_SET6, BM_TYPE_IPV6 << 12 | BM_TYPE_PROTOCOL << 6 | BM_TYPE_SERVICE,
	  BM_NFT_KEY6_LEN, 2 },
};

/* No connection tracking: a removed element stops the very next packet of a live connection. */
static const struct bm_chain chains[] = {
	{ OUT, "filter", NF_INET_LOCAL_OUT, 0, NF_DROP },
	{ IN, "filter", NF_INET_LOCAL_IN, 0, NF_DROP },
	{ FORWARD, "filter", NF_INET_FORWARD, 0, NF_DROP },
};
