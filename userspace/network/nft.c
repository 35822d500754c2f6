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

static const char *const sets[2][2] = {
	{ BM_NFT_SET4, BM_NFT_SET6 },
	{ BM_NFT_LISTEN4, BM_NFT_LISTEN6 },
};

struct key {
	const char *set;
	uint32_t len;
	uint8_t bytes[BM_NFT_KEY6_LEN];
};

/* Each field fills whole registers, as the rules load them: zeros behind protocol and port. */
static struct key key_of(const struct bm_destination *d)
{
	bool v4 = bm_destination_is_v4(d);
	struct key key = {
		.set = sets[d->listens][!v4],
		.len = v4 ? BM_NFT_KEY4_LEN : BM_NFT_KEY6_LEN,
	};
	size_t len = v4 ? 4 : 16;

	memcpy(key.bytes, d->address + 16 - len, len);
	key.bytes[len] = d->protocol;
	key.bytes[len + 4] = (uint8_t)(d->port >> 8);
	key.bytes[len + 5] = (uint8_t)d->port;
	return key;
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

static int change(const struct bm_nft *nft, const struct bm_destination *d, bool add,
		  struct bm_error *err)
{
	struct key key = key_of(d);
	autonetlink *s = NULL;
	autobatch b = {};
	int r = bm_netlink_open(nft->netns, NETLINK_NETFILTER, &s, err);

	if (r == 0)
		r = bm_batch_init(&b, table_of(nft), err);
	if (r < 0)
		return r;
	if (add)
		bm_batch_add_element(&b, key.set, key.bytes, key.len);
	else
		bm_batch_delete_element(&b, key.set, key.bytes, key.len);
	return bm_batch_send(&b, s, add ? EEXIST : ENOENT, err);
}

int bm_nft_add(const struct bm_nft *nft, const struct bm_destination *d, struct bm_error *err)
{
	return change(nft, d, true, err);
}

int bm_nft_remove(const struct bm_nft *nft, const struct bm_destination *d, struct bm_error *err)
{
	return change(nft, d, false, err);
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

	for (int i = 0; r == 0 && i < 4; i++) {
		list.listens = i / 2;
		r = list_set(s, table_of(nft), sets[i / 2][i % 2], &list, err);
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
