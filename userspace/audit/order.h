/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of one Bench in the order of their numbers. Two CPUs may bring theirs the wrong way
 * round, and a number that is missing was suppressed only when nobody can be bringing it any more:
 * what comes behind it is held until that is known. So whoever has been told a number has been told
 * of all before it.
 */
#ifndef BENCHMON_ORDER_H
#define BENCHMON_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

struct bm_ordered {
	uint64_t seq;
	struct json_object *json;
};

struct bm_order {
	uint64_t told; /* all up to this one are, or were said to be suppressed */
	struct bm_ordered *held;
	size_t count, room;
};

/*
 * Takes json over, also where it fails. -EEXIST: that number was told already. -ENOMEM: it is lost,
 * and bm_order_gap() will count it.
 */
int bm_order_put(struct bm_order *order, uint64_t seq, struct json_object *json);
/* The next one, which becomes the caller's; NULL: it is not there. */
struct json_object *bm_order_next(struct bm_order *order);
/* The numbers that are missing in front of the next one, up to settled; they count as told. */
bool bm_order_gap(struct bm_order *order, uint64_t settled, uint64_t *ret_first,
		  uint64_t *ret_last);
void bm_order_done(struct bm_order *order);

#endif
