// SPDX-License-Identifier: GPL-2.0-only
#include "network/nft.h"

#include <errno.h>
#include <netinet/in.h> /* first: linux/in.h gives way to it */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdlib.h>
#include <string.h>

#include <libnftnl/common.h>
#include <libnftnl/set.h>

#include "base/cleanup.h"
#include "network/netlink.h"
#include "network/nft_bench.h"

/* More than any sealed profile holds; a listing beyond it is not ours. */
#define LIST_MAX 65536

/* What leads out, and who may come in; of each family. */
static const char *const set_names[2][2] = {
	{ BM_NFT_SET4, BM_NFT_SET6 },
	{ BM_NFT_LISTEN4, BM_NFT_LISTEN6 },
};
#define SETS 4

/* Each field fills whole registers, as the rules load them: zeros behind protocol and port. */
static void put_key(uint8_t *key, const struct bm_destination *d)
{
	size_t len = bm_destination_is_v4(d) ? 4 : 16;

	memcpy(key, d->address + 16 - len, len);
	key[len] = d->protocol;
	key[len + 4] = (uint8_t)(d->port >> 8);
	key[len + 5] = (uint8_t)d->port;
}

/* The keys of one set, the caller's; NULL when out of memory. */
static uint8_t *keys_of(const struct bm_destination *list, size_t count, bool listens, bool v4,
			size_t *ret_count)
{
	uint32_t len = v4 ? BM_NFT_KEY4_LEN : BM_NFT_KEY6_LEN;
	uint8_t *keys = calloc(count + 1, len);
	size_t found = 0;

	for (size_t i = 0; keys && i < count; i++)
		if (list[i].listens == listens && bm_destination_is_v4(&list[i]) == v4)
			put_key(keys + len * found++, &list[i]);
	*ret_count = found;
	return keys;
}

static bool key_parse(const uint8_t *bytes, uint32_t len, struct bm_destination *ret)
{
	struct bm_destination d = { .address = { [10] = 0xff, 0xff } };
	size_t address = len == BM_NFT_KEY4_LEN ? 4 : 16;

	if (len != BM_NFT_KEY4_LEN && len != BM_NFT_KEY6_LEN)
		return false;
	memcpy(d.address + 16 - address, bytes, address);
	d.protocol = bytes[address];
	d.port = (uint16_t)(bytes[address + 4] << 8 | bytes[address + 5]);
	*ret = d;
	return true;
}

static const char *table_of(const struct bm_nft *nft)
{
	return *nft->table ? nft->table : BM_NFT_TABLE;
}

int bm_nft_setup(const struct bm_nft *nft, struct bm_error *err)
{
	autonetlink *s = NULL;
	autobatch b = {};
	int r = bm_netlink_open(nft->netns, NETLINK_NETFILTER, &s, err);

	if (r == 0)
		r = bm_batch_init(&b, table_of(nft), err);
	if (r < 0)
		return r;
	/* Added first so that deleting never fails: whatever had that name goes in this batch. */
	bm_batch_add_table(&b);
	bm_batch_delete_table(&b);
	bm_batch_add_table(&b);
	bm_nft_bench_table(&b, nft);
	return bm_batch_send(&b, s, 0, err);
}

struct keys {
	const char *set;
	uint32_t len;
	uint8_t *list;
	size_t count;
};

/* Of each set; false when out of memory. */
static bool all_keys(const struct bm_destination *list, size_t count, struct keys keys[SETS])
{
	bool complete = true;

	for (size_t i = 0; i < SETS; i++) {
		bool listens = i / 2, v4 = i % 2 == 0;

		keys[i].set = set_names[listens][!v4];
		keys[i].len = v4 ? BM_NFT_KEY4_LEN : BM_NFT_KEY6_LEN;
		keys[i].list = keys_of(list, count, listens, v4, &keys[i].count);
		complete &= keys[i].list != NULL;
	}
	return complete;
}

/*
 * To delete an element that is not there would fail, and the batch with it: so it is added first.
 * No packet ever sees that, for the batch takes effect as a whole.
 */
static int change(const struct bm_nft *nft, const struct bm_destination *list, size_t count,
		  bool add, struct bm_error *err)
{
	struct keys keys[SETS] = {};
	autonetlink *s = NULL;
	autobatch b = {};
	int r = all_keys(list, count, keys) ? 0 : bm_fail_errno(err, ENOMEM, "nftables elements");

	if (r == 0)
		r = bm_netlink_open(nft->netns, NETLINK_NETFILTER, &s, err);
	if (r == 0)
		r = bm_batch_init(&b, table_of(nft), err);
	for (size_t i = 0; r == 0 && i < SETS; i++)
		bm_batch_add_elements(&b, keys[i].set, keys[i].list, keys[i].len, keys[i].count);
	for (size_t i = 0; r == 0 && !add && i < SETS; i++)
		bm_batch_delete_elements(&b, keys[i].set, keys[i].list, keys[i].len, keys[i].count);
	if (r == 0)
		r = bm_batch_send(&b, s, add ? 0 : ENOENT, err);
	for (size_t i = 0; i < SETS; i++)
		free(keys[i].list);
	return r;
}

int bm_nft_add(const struct bm_nft *nft, const struct bm_destination *list, size_t count,
	       struct bm_error *err)
{
	return count ? change(nft, list, count, true, err) : 0;
}

int bm_nft_remove(const struct bm_nft *nft, const struct bm_destination *list, size_t count,
		  struct bm_error *err)
{
	autofree struct bm_destination *once = count ? calloc(count, sizeof(*once)) : NULL;

	if (!count)
		return 0;
	if (!once)
		return bm_fail_errno(err, ENOMEM, "nftables elements");
	/* What is deleted twice is not there the second time. */
	memcpy(once, list, count * sizeof(*once));
	return change(nft, once, bm_destinations_sort(once, count), false, err);
}

struct list {
	struct bm_destination *items;
	size_t count;
	size_t before; /* of the sets listed already */
	bool listens;
	int error;
};

static void list_reset(void *arg)
{
	struct list *list = arg;

	list->count = list->before;
}

static int list_element(struct nftnl_set_elem *e, void *arg)
{
	struct list *list = arg;
	struct bm_destination *grown, d;
	uint32_t len = 0;
	const void *key = nftnl_set_elem_get(e, NFTNL_SET_ELEM_KEY, &len);

	if (!key || !key_parse(key, len, &d))
		return 0;
	d.listens = list->listens;
	if (list->count == LIST_MAX) {
		list->error = E2BIG;
		return -1;
	}
	if ((list->count & (list->count - 1)) == 0) {
		grown = reallocarray(list->items, list->count ? list->count * 2 : 1, sizeof(d));
		if (!grown) {
			list->error = ENOMEM;
			return -1;
		}
		list->items = grown;
	}
	list->items[list->count++] = d;
	return 0;
}

static int list_message(const struct nlmsghdr *nlh, void *arg)
{
	struct nftnl_set *set = nftnl_set_alloc();
	struct list *list = arg;
	int r = -1;

	if (!set || nftnl_set_elems_nlmsg_parse(nlh, set) < 0)
		list->error = set ? EBADMSG : ENOMEM;
	else
		r = nftnl_set_elem_foreach(set, list_element, list);
	if (set)
		nftnl_set_free(set);
	if (r < 0)
		errno = list->error;
	return r < 0 ? MNL_CB_ERROR : MNL_CB_OK;
}

static int list_set(struct mnl_socket *s, const char *table, const char *name, struct list *list,
		    struct bm_error *err)
{
	char buf[1024];
	struct nlmsghdr *nlh =
		nftnl_nlmsg_build_hdr(buf, NFT_MSG_GETSETELEM, NFPROTO_INET, NLM_F_DUMP, 0);
	struct nftnl_set *set = nftnl_set_alloc();
	int r = -ENOMEM;

	list->before = list->count;
	if (set && nftnl_set_set_str(set, NFTNL_SET_TABLE, table) == 0 &&
	    nftnl_set_set_str(set, NFTNL_SET_NAME, name) == 0) {
		nftnl_set_elems_nlmsg_build_payload(nlh, set);
		r = bm_netlink_dump(s, nlh, list_message, list, list_reset);
	}
	if (set)
		nftnl_set_free(set);
	return r < 0 ? bm_fail_errno(err, -r, "listing nftables set inet %s %s", table, name) : 0;
}

int bm_nft_list(const struct bm_nft *nft, struct bm_destination **ret, size_t *ret_count,
		struct bm_error *err)
{
	struct list list = {};
	autonetlink *s = NULL;
	int r = bm_netlink_open(nft->netns, NETLINK_NETFILTER, &s, err);

	for (int i = 0; r == 0 && i < SETS; i++) {
		list.listens = i / 2;
		r = list_set(s, table_of(nft), set_names[i / 2][i % 2], &list, err);
	}
	if (r < 0) {
		free(list.items);
		return r;
	}
	*ret = list.items;
	*ret_count = list.count;
	return 0;
}

int bm_nft_destroy(const struct bm_nft *nft, struct bm_error *err)
{
	autonetlink *s = NULL;
	autobatch b = {};
	int r = bm_netlink_open(nft->netns, NETLINK_NETFILTER, &s, err);

	if (r == 0)
		r = bm_batch_init(&b, table_of(nft), err);
	if (r < 0)
		return r;
	bm_batch_delete_table(&b);
	return bm_batch_send(&b, s, ENOENT, err);
}
