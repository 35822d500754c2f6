// SPDX-License-Identifier: GPL-2.0-only
/* What is pinned, as mountinfo has it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool bm_pins_inside(const struct bm_mounts *pins, uint64_t object, uint64_t outer)
{
	const struct bm_mount *in = bm_pin_find(pins, object), *out = bm_pin_find(pins, outer);
	size_t len;

	if (object == outer)
		return false;
	if (!in || !out)
		return true;
	if (in->major != out->major || in->minor != out->minor)
		return false;
	len = strlen(out->root);
	if (len == 1) /* "/" */
		return true;
	return !strncmp(in->root, out->root, len) && in->root[len] == '/';
}
