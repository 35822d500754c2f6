/* SPDX-License-Identifier: GPL-2.0-only */
/* benchmon top: what the Benches did since the last look, and for a minute before. */
#ifndef BENCHMON_CLI_TOP_H
#define BENCHMON_CLI_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "cli/text.h"

#define TOP_HISTORY 60

struct top_bench {
	int64_t id;
	char name[CLI_SHORT], state[CLI_SHORT]; /* as they may be shown */
	int64_t grants, denied, sent;
	double denials, bytes;    /* a second, since the last look */
	double past[TOP_HISTORY]; /* denials, the newest last */
	size_t looks;             /* how many of these there are */
	bool there;
};

enum top_order {
	TOP_BY_DENIALS,
	TOP_BY_EGRESS,
	TOP_BY_NAME,
	TOP_ORDER_MAX,
};

struct top {
	struct top_bench *list;
	size_t count;
	uint64_t looked_ns; /* CLOCK_MONOTONIC; 0: never */
	enum top_order order;
	char problem[128]; /* why the numbers are old; "": they are not */
};

extern const char *const top_orders[TOP_ORDER_MAX];

/* top_model.c: what `ls` answered, at that time. */
int top_look(struct top *top, struct json_object *benches, uint64_t now_ns);
void top_sort(struct top *top);
void top_done(struct top *top);

#define TOP_RATE_LEN 16
/* "0", "0.4", "12", "3.1k"; returns buf. */
const char *top_rate(double rate, char buf[TOP_RATE_LEN]);
/* "0", "512", "4.0K": at most six columns; returns buf. */
const char *top_bytes(double bytes, char buf[TOP_RATE_LEN]);
/* The newest `columns` of the past as bars; utf8: else of ASCII. size: 3 a column and one more. */
const char *top_bars(const struct top_bench *bench, size_t columns, bool utf8, char *buf,
		     size_t size);

/*
 * top_screen.c, where ncurses is there: takes the terminal over until q or a signal. look() is
 * called each second. -ENOTTY: it is no terminal that can be drawn on.
 */
int top_screen(struct top *top, void (*look)(struct top *top), struct bm_error *err);

#endif
