// SPDX-License-Identifier: GPL-2.0-only
#include "network/nft.h"

#include <errno.h>
#include <netinet/in.h> /* first: linux/in.h gives way to it */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h> /* libnftnl/expr.h uses FILE */
#include <string.h>

#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>

#include "network/netlink.h"
#include "network/nft_bench.h"

struct sum {
	size_t rules;
	uint64_t packets;
	uint64_t here; /* of one rule */
	bool passes;   /* and it lets them */
};

static void sum_reset(void *arg)
{
	*(struct sum *)arg = (struct sum){};
}

/*
 * Counters stand before a refusal, or at the end of a chain whose policy it is; and where a Bench
 * learns, before what lets it.
 */
static int sum_counter(struct nftnl_expr *e, void *arg)
{
	struct sum *sum = arg;
	const char *name = nftnl_expr_get_str(e, NFTNL_EXPR_NAME);

	if (name && strcmp(name, "counter") == 0)
		sum->here += nftnl_expr_get_u64(e, NFTNL_EXPR_CTR_PACKETS);
	if (name && strcmp(name, "immediate") == 0 &&
	    nftnl_expr_is_set(e, NFTNL_EXPR_IMM_VERDICT) &&
	    nftnl_expr_get_u32(e, NFTNL_EXPR_IMM_VERDICT) == NF_ACCEPT)
		sum->passes = true;
	return 0;
}

static int sum_rule(const struct nlmsghdr *nlh, void *arg)
{
	struct nftnl_rule *rule = nftnl_rule_alloc();
	struct sum *sum = arg;
	int r = -1;

	sum->here = 0;
	sum->passes = false;
	errno = rule ? EBADMSG : ENOMEM;
	if (rule && nftnl_rule_nlmsg_parse(nlh, rule) == 0)
		r = nftnl_expr_foreach(rule, sum_counter, sum);
	if (rule)
		nftnl_rule_free(rule);
	if (!sum->passes)
		sum->packets += sum->here;
	sum->rules++;
	return r < 0 ? MNL_CB_ERROR : MNL_CB_OK;
}

int bm_nft_refused(const struct bm_nft *nft, uint64_t *ret_packets, struct bm_error *err)
{
	const char *table = *nft->table ? nft->table : BM_NFT_TABLE;
	struct nftnl_rule *rule = nftnl_rule_alloc();
	autonetlink *s = NULL;
	struct sum sum = {};
	char buf[1024];
	struct nlmsghdr *nlh;
	int r = bm_netlink_open(nft->netns, NETLINK_NETFILTER, &s, err);

	if (r == 0 && (!rule || nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, table) < 0))
		r = bm_fail_errno(err, ENOMEM, "nftables rules");
	if (r == 0) {
		nlh = nftnl_nlmsg_build_hdr(buf, NFT_MSG_GETRULE, NFPROTO_INET, NLM_F_DUMP, 0);
		nftnl_rule_nlmsg_build_payload(nlh, rule);
		r = bm_netlink_dump(s, nlh, sum_rule, &sum, sum_reset);
		if (r == 0 && !sum.rules)
			r = -ENOENT;
		if (r < 0)
			bm_fail_errno(err, -r, "counters of nftables table inet %s", table);
	}
	if (rule)
		nftnl_rule_free(rule);
	if (r == 0)
		*ret_packets = sum.packets;
	return r;
}
