/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a file line by line in bounded memory, without moving the file's own offset. */
#ifndef BENCHMON_LINES_H
#define BENCHMON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define BM_LINE_MAX 65536

struct bm_lines {
	int fd;
	off_t next; /* offset of the line that bm_lines_next will return */
	off_t end;
	char *buf;
	size_t start, have;
};

/* Reads the bytes of fd up to end; fd stays the caller's. */
int bm_lines_open(struct bm_lines *ret, int fd, off_t end);

/*
 * 1: *ret holds the next line without its newline, until the next call; *ret_whole is false when
 * the newline is missing, which only the last line can lack. 0: the end. -EFBIG: longer than
 * BM_LINE_MAX with its newline.
 */
int bm_lines_next(struct bm_lines *lines, const char **ret, size_t *ret_len, bool *ret_whole);

void bm_lines_close(struct bm_lines *lines);
#define autolines __attribute__((cleanup(bm_lines_close))) struct bm_lines

#endif
