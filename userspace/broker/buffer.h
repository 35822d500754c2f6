/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes on their way from one side to the other: appended at one end, taken from the other. */
#ifndef BENCHMON_BROKER_BUFFER_H
#define BENCHMON_BROKER_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *data;
	size_t start, end, size;
	bool dropped; /* something of what was taken is gone for good */
};

static inline size_t buffer_has(const struct buffer *b)
{
	return b->end - b->start;
}

/* -ENOMEM, and nothing is appended. */
int buffer_add(struct buffer *b, const void *data, size_t len);
/* At most len bytes; how many. */
size_t buffer_take(struct buffer *b, void *ret, size_t len);
/* Takes nothing back that is gone: false then. */
bool buffer_rewind(struct buffer *b);
/* Wiped before it is given back. */
void buffer_done(struct buffer *b);

#endif
