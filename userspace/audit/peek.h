/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Members of a line of ours without parsing it. In a string a quote is escaped, so what looks like
 * a key is one; none of those that are looked for is one of an object further in.
 */
#ifndef BENCHMON_PEEK_H
#define BENCHMON_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0: there is none. */
static inline uint64_t bm_peek_number(const char *line, const char *key)
{
	char quoted[32];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(line, quoted);
	return at ? strtoull(at + strlen(quoted), NULL, 10) : 0;
}

/* What would need escapes, or more room, is no name of a Bench and no type: "". */
static inline const char *bm_peek_string(const char *line, const char *key, char *buf, size_t size)
{
	char quoted[32];
	const char *at;
	size_t len;

	buf[0] = '\0';
	snprintf(quoted, sizeof(quoted), "\"%s\":\"", key);
	at = strstr(line, quoted);
	if (!at)
		return buf;
	at += strlen(quoted);
	len = strcspn(at, "\"\\");
	if (at[len] == '"' && len < size)
		snprintf(buf, size, "%.*s", (int)len, at);
	return buf;
}

/* What a line is to who reads. */
struct bm_line {
	uint64_t first, last; /* the numbers that it tells of; of one without: last is the newest
				 before it */
	bool numbered;
	uint32_t id, owner; /* 0: it does not say */
	char bench[64];
};

static inline struct bm_line bm_line_of(const char *text)
{
	struct bm_line line = { .id = (uint32_t)bm_peek_number(text, "id"),
				.owner = (uint32_t)bm_peek_number(text, "owner"),
				.last = bm_peek_number(text, "last") };

	bm_peek_string(text, "bench", line.bench, sizeof(line.bench));
	line.first = line.last ? bm_peek_number(text, "first") : bm_peek_number(text, "seq");
	line.numbered = line.first;
	if (!line.last)
		line.last = line.first ?: bm_peek_number(text, "after");
	return line;
}

#endif
