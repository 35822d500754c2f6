// SPDX-License-Identifier: GPL-2.0-only
/* A mountinfo of any bytes: every string of every mount lies in the text, or all of it is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/mounts.h"
#include "tests/fuzz/must.h"

static void within(const struct bm_mounts *mounts, size_t size, const char *s)
{
	MUST(s >= mounts->text && s + strlen(s) <= mounts->text + size);
}

/* Into a block of exactly that size: whatever the value is, it ends in it. */
static void option(const char *options, const char *key, size_t size)
{
	autofree char *buf = malloc(size), *big = malloc(strlen(options) + 2);
	bool fits;

	MUST(buf && big);
	memset(buf, 'x', size);
	fits = bm_mount_option(options, key, buf, size);
	MUST(!fits || strlen(buf) < size);
	if (!fits)
		return;
	/* What was said to fit is all of it. */
	MUST(bm_mount_option(options, key, big, strlen(options) + 2));
	MUST(!strcmp(buf, big));
	MUST(strstr(options, key));
}

static void use(const struct bm_mounts *mounts, size_t size)
{
	static const char *const keys[] = { "lowerdir", "upperdir", "a" };
	static const size_t sizes[] = { 1, 2, 3, 8, 4096 };

	for (size_t i = 0; i < mounts->count; i++) {
		const struct bm_mount *m = &mounts->list[i];

		within(mounts, size, m->root);
		within(mounts, size, m->target);
		within(mounts, size, m->fstype);
		within(mounts, size, m->options);
		MUST(!strchr(m->fstype, '\n') && !strchr(m->options, '\n'));
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
				option(m->options, keys[k], sizes[s]);
	}
}

/* The bytes between before and after, as one text. */
static void parse(const char *before, const uint8_t *data, size_t size, const char *after)
{
	size_t first = strlen(before), all = first + size + strlen(after), lines = 1;
	char *text = malloc(all + 1);
	automounts mounts = {};
	int r;

	MUST(text);
	memcpy(text, before, first);
	memcpy(text + first, data, size);
	memcpy(text + first + size, after, strlen(after) + 1);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	r = bm_mounts_parse(text, &mounts);
	MUST(r == 0 || r == -EBADMSG);
	MUST(r == 0 || (!mounts.list && !mounts.text));
	MUST(mounts.count <= lines);
	use(&mounts, all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse("", data, size, "");
	parse("9 1 0:4 /r /", data, size, " rw - overlay none rw,lowerdir=/a:/b");
	parse("9 1 0:4 /r /t rw - overlay none rw,", data, size, "\n9 1 0:4 / / rw - x x rw");
	return 0;
}
