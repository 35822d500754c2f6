// SPDX-License-Identifier: GPL-2.0-only
/* How many receipts stay: each owner has a share, so that no user's push out another's. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/receipts_internal.h"
#include "base/cleanup.h"

struct owner {
	uint32_t uid;
	size_t count;
	uint64_t bytes;
};

struct kept {
	int dir;
	const char *but; /* this one stays: somebody may have set the clock back */
	struct bm_receipt_entry *list;
	size_t count, all;
	size_t *whose; /* of each, its place in owners */
	struct owner *owners;
	size_t owner_count;
};

static size_t owner_of(struct kept *k, uint32_t uid)
{
	size_t i = 0;

	while (i < k->owner_count && k->owners[i].uid != uid)
		i++;
	if (i == k->owner_count)
		k->owners[k->owner_count++].uid = uid;
	return i;
}

/* Of the list too: its id is no Bench's then. */
static void drop(struct kept *k, size_t i)
{
	char name[BM_RECEIPT_NAME_LEN];

	bm_receipt_name(k->list[i].bench, k->list[i].id, name);
	if (!strcmp(name, k->but) || (unlinkat(k->dir, name, 0) < 0 && errno != ENOENT))
		return;
	k->list[i].id = 0;
	k->owners[k->whose[i]].count--;
	k->owners[k->whose[i]].bytes -= k->list[i].size;
	k->all--;
}

/* What the newest of each owner leave no place for. */
static void prune_each(struct kept *k, int state_dir, size_t each)
{
	for (size_t i = 0; i < k->count; i++) {
		struct owner *owner;

		k->whose[i] = owner_of(k, bm_receipt_owner(state_dir, &k->list[i]));
		owner = &k->owners[k->whose[i]];
		owner->count++;
		owner->bytes += k->list[i].size;
		if (owner->count > each || owner->bytes > BM_RECEIPTS_EACH_BYTES)
			drop(k, i);
	}
}

/* The oldest of who has most. */
static bool prune_one(struct kept *k)
{
	size_t most = 0, before = k->all;

	for (size_t i = 1; i < k->owner_count; i++)
		if (k->owners[i].count > k->owners[most].count)
			most = i;
	for (size_t i = k->count; i-- > 0 && k->all == before;)
		if (k->list[i].id && k->whose[i] == most)
			drop(k, i);
	return k->all < before;
}

void receipts_prune(int state_dir, int dir, const char *but, size_t each)
{
	autofree struct bm_receipt_entry *list = NULL;
	autofree struct owner *owners = NULL;
	autofree size_t *whose = NULL;
	struct kept k = { .dir = dir, .but = but };
	uint64_t bytes = 0;

	if (receipts_list_dir(dir, &list, &k.count) < 0)
		return;
	for (size_t i = 0; i < k.count; i++)
		bytes += list[i].size;
	/* Whose each is, its text says: that is asked where it matters. */
	if (k.count <= each && k.count <= BM_RECEIPTS_ALL && bytes <= BM_RECEIPTS_EACH_BYTES)
		return;
	k.list = list;
	k.all = k.count;
	k.whose = whose = calloc(k.count, sizeof(*whose));
	k.owners = owners = calloc(k.count, sizeof(*owners));
	if (!whose || !owners)
		return;
	prune_each(&k, state_dir, each);
	while (k.all > BM_RECEIPTS_ALL && prune_one(&k))
		;
}
