// SPDX-License-Identifier: GPL-2.0-only
/* The ledger for who asks: page by page, and a new file of it. */
#include "gatekeeperd/record.h"

#include <errno.h>

#include "audit/head.h"
#include "audit/page.h"

/* Room left for what stands around a list in a reply. */
#define REPLY_ROOM (BM_MESSAGE_MAX - 4096)

static int number_of(struct json_object *request, const char *key, int64_t *ret,
		     struct bm_error *err)
{
	*ret = 0;
	bm_json_int(request, key, ret);
	return *ret < 0 ? bm_fail(err, EINVAL, "protocol", NULL, "\"%s\" of the ledger is below 0",
				  key)
			: 0;
}

int request_ledger(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct bm_page page = { .bench = bm_json_string(message->json, "bench"),
				.owner = c->uid,
				.room = REPLY_ROOM,
				.newest = bm_ledger_file(d->ledger) };
	int64_t since, next = 0;
	struct json_object *list;
	int r = number_of(message->json, "offset", &page.from, err);

	if (r == 0)
		r = number_of(message->json, "since", &since, err);
	if (r < 0)
		return r;
	page.since = (uint64_t)since;
	r = bm_ledger_page(d->state_dir, &page, &list, &next, err);
	if (r < 0)
		return r;
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "items", list);
	if (next)
		bm_json_add_int(*ret_reply, "next", next);
	return 0;
}

int request_ledger_rotate(struct daemon *d, struct connection *c, struct bm_message *message,
			  struct json_object **ret_reply, struct bm_error *err)
{
	char old[64], head[BM_HEAD_TEXT_LEN];
	int r = only_root(c, "the ledger is everybody's: only root begins a new file of it", err);

	(void)message;
	if (r == 0)
		r = ledger_rotate(d, old, err);
	if (r < 0)
		return r;
	*ret_reply = json_object_new_object();
	bm_json_add_string(*ret_reply, "old", old);
	bm_json_add_int(*ret_reply, "file", bm_ledger_file(d->ledger));
	bm_json_add_string(*ret_reply, "head", bm_head_text(bm_ledger_head(d->ledger), head));
	return 0;
}
