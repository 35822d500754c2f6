// SPDX-License-Identifier: GPL-2.0-only
/* What is pinned, as mountinfo has it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/pin.h"

#define PIN_PATH 64
#define MOUNTINFO_MAX (16u << 20)

static int by_target(const void *a, const void *b)
{
	return strcmp(((const struct bm_mount *)a)->target, ((const struct bm_mount *)b)->target);
}

/* In an order by which they are found: each grant of a Bench is compared with each other one. */
int bm_pins_parse(int mountinfo, struct bm_mounts *ret, struct bm_error *err)
{
	char *text;
	int r = bm_read_fd(mountinfo, MOUNTINFO_MAX, &text, NULL);

	if (r == 0)
		r = bm_mounts_parse(text, ret);
	if (r == 0)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_target);
	return r < 0 ? bm_fail_errno(err, -r, "pins") : 0;
}

const struct bm_mount *bm_pin_find(const struct bm_mounts *pins, uint64_t object)
{
	struct bm_mount wanted = {};
	char path[PIN_PATH];

	snprintf(path, sizeof(path), "/%" PRIu64, object);
	wanted.target = path;
	return pins->count ? bsearch(&wanted, pins->list, pins->count, sizeof(wanted), by_target)
			   : NULL;
}

bool bm_pins_beyond(const struct bm_mounts *pins, bool (*keep)(void *ctx, uint64_t object),
		    void *ctx)
{
	for (size_t i = 0; i < pins->count; i++) {
		char *end;
		uint64_t object = strtoull(pins->list[i].target + 1, &end, 10);

		if (end != pins->list[i].target + 1 && !*end && !keep(ctx, object))
			return true;
	}
	return false;
}

bool bm_pinned(const struct bm_mounts *pins, uint64_t object)
{
	return bm_pin_find(pins, object);
}

static bool lies_in(const struct bm_mount *in, const struct bm_mount *out)
{
	size_t len = strlen(out->root);

	if (in->major != out->major || in->minor != out->minor)
		return false;
	return len == 1 || (!strncmp(in->root, out->root, len) && in->root[len] == '/');
}

bool bm_pins_inside(const struct bm_mounts *pins, uint64_t object, uint64_t outer)
{
	const struct bm_mount *in = bm_pin_find(pins, object), *out = bm_pin_find(pins, outer);

	if (object == outer)
		return false;
	if (!in || !out)
		return true;
	return lies_in(in, out);
}

/* A directory, and right behind it what lies in it: '/' comes before all else. */
static int by_root(const void *a, const void *b)
{
	const struct bm_mount *x = *(const struct bm_mount *const *)a;
	const struct bm_mount *y = *(const struct bm_mount *const *)b;
	const char *p = x->root, *q = y->root;

	if (x->major != y->major)
		return x->major < y->major ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor < y->minor ? -1 : 1;
	while (*p && *p == *q)
		p++, q++;
	if (!*p || !*q)
		return (*p != 0) - (*q != 0);
	if (*p == '/' || *q == '/')
		return *p == '/' ? -1 : 1;
	return (unsigned char)*p < (unsigned char)*q ? -1 : *p != *q;
}

bool bm_pins_any_inside(const struct bm_mounts *pins, const uint64_t *objects, size_t count)
{
	autofree const struct bm_mount **list = calloc(count + 1, sizeof(*list));
	bool inside = !list;

	for (size_t i = 0; !inside && i < count; i++) {
		list[i] = bm_pin_find(pins, objects[i]);
		inside = !list[i] && count > 1;
	}
	if (inside || count < 2)
		return inside;
	qsort(list, count, sizeof(*list), by_root);
	for (size_t i = 1; i < count; i++)
		if (list[i] != list[i - 1] && lies_in(list[i], list[i - 1]))
			return true;
	return false;
}
