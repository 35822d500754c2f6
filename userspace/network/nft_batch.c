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
/* Removing as many elements as the kernel's table has room for takes 5 MB. */
#define BATCH_MAX (8u << 20)
/* libnftnl does not know where the buffer ends, so a message begins only with this much left. */
#define MESSAGE_MAX 4096
/* Of one message: its list is an attribute, whose length is 16 bits. */
#define ELEMENTS_MAX 1500
#define ELEMENT_ROOM 12 /* the headers around its key */

int bm_batch_init(struct bm_batch *b, const char *table, struct bm_error *err)
{
	*b = (struct bm_batch){ .table = table, .buf = malloc(BATCH_SIZE), .size = BATCH_SIZE };
	if (!b->buf)
		return bm_fail_errno(err, ENOMEM, "netlink batch");
	b->first = bm_netlink_seq();
	b->used = nftnl_batch_begin(b->buf, b->first)->nlmsg_len;
	return 0;
}

void bm_batch_free(struct bm_batch *b)
{
	free(b->buf);
	free(b->what);
	b->buf = NULL;
	b->what = NULL;
}

static int grow(struct bm_batch *b, size_t room)
{
	struct bm_batch_what *what = reallocarray(b->what, b->count + 1, sizeof(*what));
	size_t size = b->size;
	char *buf;

	if (!what)
		return ENOMEM;
	b->what = what;
	while (b->used + room > size)
		size *= 2;
	if (size > BATCH_MAX)
		return EMSGSIZE;
	buf = size > b->size ? realloc(b->buf, size) : b->buf;
	if (!buf)
		return ENOMEM;
	b->buf = buf;
	b->size = size;
	return 0;
}

/* NULL when the batch is broken already. room: what may follow the header, and the end of it all.
 */
static struct nlmsghdr *message_of(struct bm_batch *b, size_t room, uint16_t type, uint16_t flags,
				   const char *action, const char *name)
{
	b->error = b->error ?: grow(b, room);
	if (b->error)
		return NULL;
	/* The kernel echoes it: refused() in nft_send.c leads it back to what it was about. */
	b->what[b->count].action = action;
	b->what[b->count].name = name;
	b->count++;
	return nftnl_nlmsg_build_hdr(b->buf + b->used, type, NFPROTO_INET, flags | NLM_F_ACK,
				     b->first + b->count);
}

static struct nlmsghdr *message(struct bm_batch *b, uint16_t type, uint16_t flags,
				const char *action, const char *name)
{
	return message_of(b, MESSAGE_MAX, type, flags, action, name);
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

static void put_elements(struct nlmsghdr *nlh, const uint8_t *keys, uint32_t len, size_t count)
{
	struct nlattr *list = mnl_attr_nest_start(nlh, NFTA_SET_ELEM_LIST_ELEMENTS);

	for (size_t i = 0; i < count; i++) {
		struct nlattr *item = mnl_attr_nest_start(nlh, NFTA_LIST_ELEM);
		struct nlattr *key = mnl_attr_nest_start(nlh, NFTA_SET_ELEM_KEY);

		mnl_attr_put(nlh, NFTA_DATA_VALUE, len, keys + i * len);
		mnl_attr_nest_end(nlh, key);
		mnl_attr_nest_end(nlh, item);
	}
	mnl_attr_nest_end(nlh, list);
}

/* By hand: libnftnl keeps three allocations for each, and knows no end of the list either. */
static void elements(struct bm_batch *b, uint16_t type, uint16_t flags, const char *action,
		     const char *set, const void *keys, uint32_t len, size_t count)
{
	const uint8_t *next = keys;
	size_t some;

	for (; count; count -= some, next += some * len) {
		struct nlmsghdr *nlh;

		some = count < ELEMENTS_MAX ? count : ELEMENTS_MAX;
		nlh = message_of(b, MESSAGE_MAX + some * (ELEMENT_ROOM + MNL_ALIGN(len)), type,
				 flags, action, set);
		if (!nlh)
			return;
		mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_TABLE, b->table);
		mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_SET, set);
		put_elements(nlh, next, len, some);
		finish(b, nlh);
	}
}

void bm_batch_add_elements(struct bm_batch *b, const char *set, const void *keys, uint32_t len,
			   size_t count)
{
	/* Without NLM_F_EXCL one that is there already is no error. */
	elements(b, NFT_MSG_NEWSETELEM, NLM_F_CREATE, "adding to set", set, keys, len, count);
}

void bm_batch_delete_elements(struct bm_batch *b, const char *set, const void *keys, uint32_t len,
			      size_t count)
{
	elements(b, NFT_MSG_DELSETELEM, 0, "deleting from set", set, keys, len, count);
}
