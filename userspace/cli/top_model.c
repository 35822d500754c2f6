// SPDX-License-Identifier: GPL-2.0-only
#include "cli/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1e9

const char *const top_orders[TOP_ORDER_MAX] = { "denials", "egress", "name" };

static struct top_bench *find(struct top *top, int64_t id)
{
	for (size_t i = 0; i < top->count; i++)
		if (top->list[i].id == id)
			return &top->list[i];
	return NULL;
}

static struct top_bench *add(struct top *top, int64_t id)
{
	struct top_bench *grown = reallocarray(top->list, top->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	top->list = grown;
	grown[top->count] = (struct top_bench){ .id = id };
	return &grown[top->count++];
}

static int64_t number(struct json_object *json, const char *key)
{
	int64_t n = 0;

	return bm_json_int(json, key, &n) == 0 && n > 0 ? n : 0;
}

/* A counter that went back is another one, and tells nothing of the time between. */
static double rate(int64_t was, int64_t is, double seconds)
{
	return is > was && seconds > 0 ? (double)(is - was) / seconds : 0;
}

static void look_at(struct top_bench *b, struct json_object *json, double seconds)
{
	int64_t denied = number(json, "denied"), sent = number(json, "egress_bytes");
	bool known = b->name[0];

	cli_show_key(json, "name", b->name, sizeof(b->name));
	cli_show_key(json, "state", b->state, sizeof(b->state));
	b->grants = number(json, "grant_count");
	b->there = true;
	if (known) {
		b->denials = rate(b->denied, denied, seconds);
		b->bytes = rate(b->sent, sent, seconds);
		memmove(b->past, b->past + 1, sizeof(b->past) - sizeof(b->past[0]));
		b->past[TOP_HISTORY - 1] = b->denials;
		b->looks += b->looks < TOP_HISTORY;
	}
	b->denied = denied;
	b->sent = sent;
}

static void forget(struct top *top)
{
	size_t kept = 0;

	for (size_t i = 0; i < top->count; i++)
		if (top->list[i].there)
			top->list[kept++] = top->list[i];
	top->count = kept;
}

int top_look(struct top *top, struct json_object *benches, uint64_t now_ns)
{
	double seconds = top->looked_ns ? (double)(now_ns - top->looked_ns) / SECOND_NS : 0;

	for (size_t i = 0; i < top->count; i++)
		top->list[i].there = false;
	for (size_t i = 0; i < json_object_array_length(benches); i++) {
		struct json_object *json = json_object_array_get_idx(benches, i);
		int64_t id = number(json, "id");
		struct top_bench *b = find(top, id) ?: add(top, id);

		if (!b)
			return -ENOMEM;
		look_at(b, json, seconds);
	}
	forget(top);
	top->looked_ns = now_ns;
	top_sort(top);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct top_bench *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int less(double x, double y)
{
	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_denials(const void *a, const void *b)
{
	const struct top_bench *x = a, *y = b;

	return less(x->denials, y->denials) ?: less((double)x->denied, (double)y->denied)
					       ?: by_name(a, b);
}

static int by_egress(const void *a, const void *b)
{
	const struct top_bench *x = a, *y = b;

	return less(x->bytes, y->bytes) ?: less((double)x->sent, (double)y->sent) ?: by_name(a, b);
}

void top_sort(struct top *top)
{
	static int (*const orders[TOP_ORDER_MAX])(
		const void *, const void *) = { by_denials, by_egress, by_name };

	if (top->count)
		qsort(top->list, top->count, sizeof(*top->list), orders[top->order]);
}

void top_done(struct top *top)
{
	free(top->list);
	*top = (struct top){};
}

static const char *scaled(double value, double step, char buf[TOP_RATE_LEN])
{
	static const char units[] = " kMGTPE";
	int unit = 0;

	while (value >= step && units[unit + 1]) {
		value /= step;
		unit++;
	}
	if (unit)
		snprintf(buf, TOP_RATE_LEN, "%.1f%c", value, units[unit]);
	else
		snprintf(buf, TOP_RATE_LEN, value > 0 && value < 10 ? "%.1f" : "%.0f", value);
	return buf;
}

const char *top_rate(double value, char buf[TOP_RATE_LEN])
{
	return scaled(value, 1000, buf);
}

const char *top_bytes(double bytes, char buf[TOP_RATE_LEN])
{
	return bytes < 1024 ? (snprintf(buf, TOP_RATE_LEN, "%.0f", bytes), buf)
			    : scaled(bytes, 1024, buf);
}

const char *top_bars(const struct top_bench *bench, size_t columns, bool utf8, char *buf,
		     size_t size)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
	const size_t levels = sizeof(plain) / sizeof(plain[0]) - 1;
	double most = 0;
	size_t used = 0;

	columns = columns < TOP_HISTORY ? columns : TOP_HISTORY;
	for (size_t i = TOP_HISTORY - columns; i < TOP_HISTORY; i++)
		most = bench->past[i] > most ? bench->past[i] : most;
	buf[0] = '\0';
	for (size_t i = TOP_HISTORY - columns; i < TOP_HISTORY; i++) {
		/* What there was is never nothing. */
		size_t level = bench->past[i] > 0
				       ? 1 + (size_t)(bench->past[i] / most * (double)(levels - 1))
				       : 0;
		const char *bar = utf8 ? blocks[level] : plain[level];

		if (used + strlen(bar) >= size)
			break;
		used += (size_t)snprintf(buf + used, size - used, "%s", bar);
	}
	return buf;
}
