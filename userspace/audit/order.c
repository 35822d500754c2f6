// SPDX-License-Identifier: GPL-2.0-only
#include "audit/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 16

static int grow(struct bm_order *order)
{
	size_t room = order->room ? 2 * order->room : ROOM_FIRST;
	struct bm_ordered *grown;

	if (order->count < order->room)
		return 0;
	grown = reallocarray(order->held, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	order->held = grown;
	order->room = room;
	return 0;
}

int bm_order_put(struct bm_order *order, uint64_t seq, struct json_object *json)
{
	size_t at = order->count;
	int r = 0;

	/* Nearly always the last place. */
	while (at && order->held[at - 1].seq > seq)
		at--;
	if (seq <= order->told || (at && order->held[at - 1].seq == seq))
		r = -EEXIST;
	if (r == 0)
		r = grow(order);
	if (r < 0) {
		json_object_put(json);
		return r;
	}
	memmove(&order->held[at + 1], &order->held[at], (order->count - at) * sizeof(*order->held));
	order->held[at] = (struct bm_ordered){ seq, json };
	order->count++;
	return 0;
}

struct json_object *bm_order_next(struct bm_order *order)
{
	struct json_object *json;

	if (!order->count || order->held[0].seq != order->told + 1)
		return NULL;
	json = order->held[0].json;
	order->told++;
	order->count--;
	memmove(&order->held[0], &order->held[1], order->count * sizeof(*order->held));
	return json;
}

bool bm_order_gap(struct bm_order *order, uint64_t settled, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t last = settled;

	if (order->count && order->held[0].seq <= settled)
		last = order->held[0].seq - 1;
	if (last <= order->told)
		return false;
	*ret_first = order->told + 1;
	*ret_last = last;
	order->told = last;
	return true;
}

void bm_order_done(struct bm_order *order)
{
	for (size_t i = 0; i < order->count; i++)
		json_object_put(order->held[i].json);
	free(order->held);
	*order = (struct bm_order){};
}
