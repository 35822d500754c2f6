// SPDX-License-Identifier: GPL-2.0-only
#include "network/nft_batch.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdlib.h>

#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>

#include "base/cleanup.h"
#include "network/netlink.h"

#define BATCH_SIZE 65536
/* libnftnl does not know where the buffer ends, so a message begins only with this much left. */
#define MESSAGE_MAX 4096

int bm_batch_init(struct bm_batch *b, const char *table, struct bm_error *err)
{
	*b = (struct bm_batch){ .table = table, .buf = malloc(BATCH_SIZE) };
	if (!b->buf)
		return bm_fail_errno(err, ENOMEM, "netlink batch");
	b->first = bm_netlink_seq();
	b->used = nftnl_batch_begin(b->buf, b->first)->nlmsg_len;
	return 0;
}

void bm_batch_free(struct bm_batch *b)
{
	free(b->buf);
	b->buf = NULL;
}

/* NULL when the batch is broken already. */
static struct nlmsghdr *message(struct bm_batch *b, uint16_t type, uint16_t flags,
				const char *action, const char *name)
{
	if (!b->error && (b->count == sizeof(b->what) / sizeof(b->what[0]) ||
			  b->used + MESSAGE_MAX > BATCH_SIZE))
		b->error = EMSGSIZE;
	if (b->error)
		return NULL;
	/* The kernel echoes it: refused() in nft_send.c leads it back to what it was about. */
	b->what[b->count].action = action;
	b->what[b->count].name = name;
	b->count++;
	return nftnl_nlmsg_build_hdr(b->buf + b->used, type, NFPROTO_INET, flags | NLM_F_ACK,
				     b->first + b->count);
}

static void finish(struct bm_batch *b, const struct nlmsghdr *nlh)
{
	b->used += MNL_ALIGN(nlh->nlmsg_len);
}

static void table_message(struct bm_batch *b, uint16_t type, uint16_t flags, const char *action)
{
	struct nftnl_table *table = nftnl_table_alloc();
	struct nlmsghdr *nlh = message(b, type, flags, action, b->table);

	if (!table || nftnl_table_set_str(table, NFTNL_TABLE_NAME, b->table) < 0)
		b->error = b->error ?: ENOMEM;
	else if (nlh) {
		nftnl_table_nlmsg_build_payload(nlh, table);
		finish(b, nlh);
	}
	if (table)
		nftnl_table_free(table);
}

void bm_batch_add_table(struct bm_batch *b)
{
	table_message(b, NFT_MSG_NEWTABLE, NLM_F_CREATE, "adding table");
}

void bm_batch_delete_table(struct bm_batch *b)
{
	table_message(b, NFT_MSG_DELTABLE, 0, "deleting table");
}

void bm_batch_add_chain(struct bm_batch *b, const struct bm_chain *chain)
{
	struct nftnl_chain *c = nftnl_chain_alloc();
	struct nlmsghdr *nlh =
		message(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL, "chain", chain->name);

	if (!c || nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, b->table) < 0 ||
	    nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, chain->name) < 0 ||
	    (chain->type && nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, chain->type) < 0))
		b->error = b->error ?: ENOMEM;
	else if (nlh) {
		if (chain->type) {
			nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, chain->hook);
			nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, chain->priority);
			nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, chain->policy);
		}
		nftnl_chain_nlmsg_build_payload(nlh, c);
		finish(b, nlh);
	}
	if (c)
		nftnl_chain_free(c);
}

static struct nftnl_set *set_of(struct bm_batch *b, const char *name)
{
	struct nftnl_set *s = nftnl_set_alloc();

	if (s && nftnl_set_set_str(s, NFTNL_SET_TABLE, b->table) == 0 &&
	    nftnl_set_set_str(s, NFTNL_SET_NAME, name) == 0)
		return s;
	if (s)
		nftnl_set_free(s);
	b->error = b->error ?: ENOMEM;
	return NULL;
}

void bm_batch_add_set(struct bm_batch *b, const struct bm_set *set)
{
	struct nftnl_set *s = set_of(b, set->name);
	struct nlmsghdr *nlh =
		message(b, NFT_MSG_NEWSET, NLM_F_CREATE | NLM_F_EXCL, "set", set->name);

	if (s && nlh) {
		nftnl_set_set_u32(s, NFTNL_SET_FAMILY, NFPROTO_INET);
		nftnl_set_set_u32(s, NFTNL_SET_KEY_TYPE, set->key_type);
		nftnl_set_set_u32(s, NFTNL_SET_KEY_LEN, set->key_len);
		nftnl_set_set_u32(s, NFTNL_SET_ID, set->id);
		if (set->timeout) {
			nftnl_set_set_u32(s, NFTNL_SET_FLAGS, NFT_SET_EVAL | NFT_SET_TIMEOUT);
			nftnl_set_set_u64(s, NFTNL_SET_TIMEOUT, set->timeout);
			nftnl_set_set_u32(s, NFTNL_SET_DESC_SIZE, set->size);
		}
		nftnl_set_nlmsg_build_payload(nlh, s);
		finish(b, nlh);
	}
	if (s)
		nftnl_set_free(s);
}

void bm_batch_add_rule(struct bm_batch *b, const char *chain, struct nftnl_rule *rule)
{
	struct nlmsghdr *nlh =
		message(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, "rule of chain", chain);

	if (!rule || nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, b->table) < 0 ||
	    nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chain) < 0)
		b->error = b->error ?: ENOMEM;
	else if (nlh) {
		nftnl_rule_set_u32(rule, NFTNL_RULE_FAMILY, NFPROTO_INET);
		nftnl_rule_nlmsg_build_payload(nlh, rule);
		finish(b, nlh);
	}
	if (rule)
		nftnl_rule_free(rule);
}

static void element(struct bm_batch *b, uint16_t type, uint16_t flags, const char *action,
		    const char *set, const void *key, uint32_t len)
{
	struct nftnl_set *s = set_of(b, set);
	struct nftnl_set_elem *e = nftnl_set_elem_alloc();
	struct nlmsghdr *nlh = message(b, type, flags, action, set);

	if (!s || !e || nftnl_set_elem_set(e, NFTNL_SET_ELEM_KEY, key, len) < 0) {
		b->error = b->error ?: ENOMEM;
		if (e)
			nftnl_set_elem_free(e);
	} else {
		nftnl_set_elem_add(s, e);
		if (nlh) {
			nftnl_set_elems_nlmsg_build_payload(nlh, s);
			finish(b, nlh);
		}
	}
	if (s)
		nftnl_set_free(s);
}

void bm_batch_add_element(struct bm_batch *b, const char *set, const void *key, uint32_t len)
{
	/* Without NLM_F_EXCL one that is there already is no error. */
	element(b, NFT_MSG_NEWSETELEM, NLM_F_CREATE, "adding to set", set, key, len);
}

void bm_batch_delete_element(struct bm_batch *b, const char *set, const void *key, uint32_t len)
{
	element(b, NFT_MSG_DELSETELEM, 0, "deleting from set", set, key, len);
}
