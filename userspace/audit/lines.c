// SPDX-License-Identifier: GPL-2.0-only
#include "audit/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int bm_lines_open(struct bm_lines *ret, int fd, off_t end)
{
	char *buf = malloc(BM_LINE_MAX);

	if (!buf)
		return -ENOMEM;
	*ret = (struct bm_lines){ .fd = fd, .end = end, .buf = buf };
	return 0;
}

static int fill(struct bm_lines *lines)
{
	off_t at = lines->next + (off_t)lines->have;
	size_t room;
	ssize_t n;

	memmove(lines->buf, lines->buf + lines->start, lines->have);
	lines->start = 0;
	room = BM_LINE_MAX - lines->have;
	if (!room)
		return -EFBIG;
	if ((off_t)room > lines->end - at)
		room = (size_t)(lines->end - at);
	do {
		n = pread(lines->fd, lines->buf + lines->have, room, at);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	/* Shorter than it was told to be: what is missing will never come. */
	if (n == 0)
		lines->end = at;
	lines->have += (size_t)n;
	return 0;
}

int bm_lines_next(struct bm_lines *lines, const char **ret, size_t *ret_len, bool *ret_whole)
{
	for (;;) {
		char *line = lines->buf + lines->start;
		char *newline = lines->have ? memchr(line, '\n', lines->have) : NULL;
		bool at_end = lines->next + (off_t)lines->have >= lines->end;
		size_t taken;
		int r;

		if (!newline && !at_end) {
			r = fill(lines);
			if (r < 0)
				return r;
			continue;
		}
		if (!newline && !lines->have)
			return 0;
		taken = newline ? (size_t)(newline - line) + 1 : lines->have;
		lines->start += taken;
		lines->have -= taken;
		lines->next += (off_t)taken;
		*ret = line;
		*ret_len = newline ? taken - 1 : taken;
		*ret_whole = newline;
		return 1;
	}
}

void bm_lines_close(struct bm_lines *lines)
{
	free(lines->buf);
	lines->buf = NULL;
}
