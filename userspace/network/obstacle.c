// SPDX-License-Identifier: GPL-2.0-only
#include "network/obstacle.h"

#include <errno.h>
#include <netinet/in.h> /* first: linux/in.h gives way to it */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdbool.h>
#include <stdio.h> /* libnftnl/expr.h uses FILE */
#include <stdlib.h>
#include <string.h>

#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>

#include "base/cleanup.h"
#include "network/netlink.h"
#include "network/xtables.h"

#define CHAINS_MAX 4096 /* of all tables; what is beyond is not looked at */
#define OURS "benchmon"

struct chain {
	uint32_t family; /* NFPROTO_* */
	char table[64], name[64];
	bool forward, drops;
};

struct chains {
	struct chain *list;
	size_t count;
};

static void chains_reset(void *arg)
{
	struct chains *chains = arg;

	chains->count = 0;
}

static struct chain parse(const struct nftnl_chain *c)
{
	struct chain chain = { .family = nftnl_chain_get_u32(c, NFTNL_CHAIN_FAMILY) };

	snprintf(chain.table, sizeof(chain.table), "%s",
		 nftnl_chain_get_str(c, NFTNL_CHAIN_TABLE) ?: "");
	snprintf(chain.name, sizeof(chain.name), "%s",
		 nftnl_chain_get_str(c, NFTNL_CHAIN_NAME) ?: "");
	chain.forward = nftnl_chain_is_set(c, NFTNL_CHAIN_HOOKNUM) &&
			nftnl_chain_get_u32(c, NFTNL_CHAIN_HOOKNUM) == NF_INET_FORWARD;
	chain.drops = chain.forward && nftnl_chain_is_set(c, NFTNL_CHAIN_POLICY) &&
		      nftnl_chain_get_u32(c, NFTNL_CHAIN_POLICY) == NF_DROP;
	return chain;
}

static int got_chain(const struct nlmsghdr *nlh, void *arg)
{
	struct nftnl_chain *c;
	struct chains *chains = arg;
	struct chain *grown;
	int r = MNL_CB_ERROR;

	if (chains->count == CHAINS_MAX)
		return MNL_CB_OK;
	grown = reallocarray(chains->list, chains->count + 1, sizeof(*grown));
	if (!grown)
		return MNL_CB_ERROR;
	chains->list = grown;
	c = nftnl_chain_alloc();
	errno = c ? EBADMSG : ENOMEM;
	if (c && nftnl_chain_nlmsg_parse(nlh, c) == 0) {
		grown[chains->count++] = parse(c);
		r = MNL_CB_OK;
	}
	if (c)
		nftnl_chain_free(c);
	return r;
}

static bool has(const struct chains *chains, const struct chain *of, const char *prefix)
{
	for (size_t i = 0; i < chains->count; i++) {
		const struct chain *c = &chains->list[i];

		if (c->family == of->family && !strcmp(c->table, of->table) &&
		    !strncmp(c->name, prefix, strlen(prefix)))
			return true;
	}
	return false;
}

/* A comparison with a name such as bm7, or with bm* (which compares two bytes). */
static int names_link(struct nftnl_expr *e, void *arg)
{
	const char *kind = nftnl_expr_get_str(e, NFTNL_EXPR_NAME);
	uint32_t len = 0;
	const void *data;

	if (!kind || strcmp(kind, "cmp") != 0)
		return 0;
	data = nftnl_expr_get(e, NFTNL_EXPR_CMP_DATA, &len);
	if (data && (len == 2 || len > 8) && !memcmp(data, "bm", 2))
		*(bool *)arg = true;
	return 0;
}

static int got_rule(const struct nlmsghdr *nlh, void *arg)
{
	struct nftnl_rule *rule = nftnl_rule_alloc();

	if (rule && nftnl_rule_nlmsg_parse(nlh, rule) == 0)
		nftnl_expr_foreach(rule, names_link, arg)
			;
	if (rule)
		nftnl_rule_free(rule);
	return MNL_CB_OK;
}

/* Somebody has followed the remedy, or knows better. */
static bool is_opened(struct mnl_socket *s, const struct chain *of)
{
	struct nftnl_rule *rule = nftnl_rule_alloc();
	bool opened = false;
	char buf[1024];
	struct nlmsghdr *nlh;

	if (rule && nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, of->table) == 0) {
		nlh = nftnl_nlmsg_build_hdr(buf, NFT_MSG_GETRULE, (uint16_t)of->family, NLM_F_DUMP,
					    0);
		nftnl_rule_nlmsg_build_payload(nlh, rule);
		bm_netlink_dump(s, nlh, got_rule, &opened, NULL);
	}
	if (rule)
		nftnl_rule_free(rule);
	return opened;
}

static const char *family_name(uint32_t family)
{
	return family == NFPROTO_INET ? "inet" : family == NFPROTO_IPV6 ? "ip6" : "ip";
}

static void accept_in(const struct chain *c, char *buf, size_t size)
{
	const char *family = family_name(c->family);
	int len = snprintf(buf, size,
			   "nft insert rule %s %s %s iifname 'bm*' accept && "
			   "nft insert rule %s %s %s oifname 'bm*' accept",
			   family, c->table, c->name, family, c->table, c->name);

	if (len < 0 || (size_t)len >= size)
		snprintf(buf, size, "let it accept what comes from, and goes to, interfaces bm*");
}

static void describe(const struct chains *chains, const struct chain *c, const char *link,
		     struct bm_obstacle *ret)
{
	const char *who = "";
	const char *tables = c->family == NFPROTO_IPV6 ? "ip6tables" : "iptables";

	if (!strcmp(c->table, "firewalld")) {
		who = " (firewalld)";
		snprintf(ret->remedy, sizeof(ret->remedy),
			 "firewall-cmd --zone=trusted --add-interface=%s", link);
	} else if (has(chains, c, "DOCKER-USER")) {
		who = " (docker)";
		snprintf(ret->remedy, sizeof(ret->remedy),
			 "%s -I DOCKER-USER -i bm+ -j ACCEPT && "
			 "%s -I DOCKER-USER -o bm+ -j ACCEPT",
			 tables, tables);
	} else if (has(chains, c, "ufw-") || has(chains, c, "ufw6-")) {
		who = " (ufw)";
		snprintf(ret->remedy, sizeof(ret->remedy),
			 "ufw route allow in on %s && ufw route allow out on %s", link, link);
	} else if (!strcmp(c->table, "filter") && !strcmp(c->name, "FORWARD")) {
		who = " (iptables)";
		snprintf(ret->remedy, sizeof(ret->remedy),
			 "%s -I FORWARD -i bm+ -j ACCEPT && %s -I FORWARD -o bm+ -j ACCEPT", tables,
			 tables);
	} else {
		accept_in(c, ret->remedy, sizeof(ret->remedy));
	}
	snprintf(ret->what, sizeof(ret->what),
		 "chain %s of nftables table %s %s%s drops what is forwarded and none of its rules "
		 "accepts: the Bench may get no answer",
		 c->name, family_name(c->family), c->table, who);
}

/* The same of iptables-legacy; a table of its that can't be read is no reason to warn of it. */
static bool legacy(int family, const char *link, struct bm_obstacle *ret)
{
	const char *six = family == AF_INET6 ? "6" : "", *who = "";
	struct bm_xtables x;

	if (bm_xtables_forward(family, &x, NULL) < 0 || !x.drops || x.names_link)
		return false;
	snprintf(ret->remedy, sizeof(ret->remedy),
		 "ip%stables-legacy -I %s -i bm+ -j ACCEPT && "
		 "ip%stables-legacy -I %s -o bm+ -j ACCEPT",
		 six, x.docker ? "DOCKER-USER" : "FORWARD", six,
		 x.docker ? "DOCKER-USER" : "FORWARD");
	if (x.docker) {
		who = " (docker)";
	} else if (x.ufw) {
		who = " (ufw)";
		snprintf(ret->remedy, sizeof(ret->remedy),
			 "ufw route allow in on %s && ufw route allow out on %s", link, link);
	}
	snprintf(ret->what, sizeof(ret->what),
		 "chain FORWARD of ip%stables-legacy%s drops what is forwarded and none of its "
		 "rules accepts: the Bench may get no answer",
		 six, who);
	return true;
}

static bool concerns(const struct chain *c, int family)
{
	if (!strncmp(c->table, OURS, strlen(OURS)) || !c->forward)
		return false;
	/* Its policy is accept, and its last rule rejects. */
	if (!c->drops && strcmp(c->table, "firewalld") != 0)
		return false;
	return c->family == NFPROTO_INET || (c->family == NFPROTO_IPV4 && family != AF_INET6) ||
	       (c->family == NFPROTO_IPV6 && family != AF_INET);
}

int bm_obstacles_find(int family, const char *link, struct bm_obstacle ret[BM_OBSTACLES_MAX],
		      size_t *ret_count, struct bm_error *err)
{
	struct chains chains = {};
	autofree struct chain *list = NULL;
	autonetlink *s = NULL;
	size_t count = 0;
	char buf[256];
	int r = bm_netlink_open(-1, NETLINK_NETFILTER, &s, err);

	if (r < 0)
		return r;
	r = bm_netlink_dump(
		s, nftnl_nlmsg_build_hdr(buf, NFT_MSG_GETCHAIN, NFPROTO_UNSPEC, NLM_F_DUMP, 0),
		got_chain, &chains, chains_reset);
	list = chains.list;
	if (r < 0)
		return bm_fail_errno(err, -r, "listing the nftables chains of the host");
	for (size_t i = 0; i < chains.count && count < BM_OBSTACLES_MAX; i++)
		if (concerns(&list[i], family) && !is_opened(s, &list[i]))
			describe(&chains, &list[i], link, &ret[count++]);
	if (family != AF_INET6 && count < BM_OBSTACLES_MAX)
		count += legacy(AF_INET, link, &ret[count]);
	if (family != AF_INET && count < BM_OBSTACLES_MAX)
		count += legacy(AF_INET6, link, &ret[count]);
	*ret_count = count;
	return 0;
}
