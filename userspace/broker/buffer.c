// SPDX-License-Identifier: GPL-2.0-only
#include "broker/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT (64 * 1024) /* of what was taken, as long as there is room for it */

static int make_room(struct buffer *b, size_t len)
{
	size_t size = b->size ?: 4096;
	char *data;

	if (b->start == b->end && b->end > KEPT) {
		b->dropped = true;
		b->start = b->end = 0;
	}
	if (b->size - b->end >= len)
		return 0;
	if (b->start > KEPT) {
		b->dropped = true;
		memmove(b->data, b->data + b->start, buffer_has(b));
		b->end -= b->start;
		b->start = 0;
	}
	while (size - b->end < len)
		size *= 2;
	if (size == b->size)
		return 0;
	data = realloc(b->data, size);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->size = size;
	return 0;
}

int buffer_add(struct buffer *b, const void *data, size_t len)
{
	int r = len ? make_room(b, len) : 0;

	if (r == 0 && len) {
		memcpy(b->data + b->end, data, len);
		b->end += len;
	}
	return r;
}

size_t buffer_take(struct buffer *b, void *ret, size_t len)
{
	if (len > buffer_has(b))
		len = buffer_has(b);
	if (len) {
		memcpy(ret, b->data + b->start, len);
		b->start += len;
	}
	return len;
}

bool buffer_rewind(struct buffer *b)
{
	if (b->dropped)
		return false;
	b->start = 0;
	return true;
}

void buffer_done(struct buffer *b)
{
	if (b->data)
		explicit_bzero(b->data, b->size);
	free(b->data);
	*b = (struct buffer){};
}
