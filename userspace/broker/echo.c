// SPDX-License-Identifier: GPL-2.0-only
#include "broker/echo.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Itself, its hex digits, and base64 in two alphabets with 0, 1 or 2 bytes before it. */
#define PATTERNS 8
/* A credential of one letter over and over keeps as many alive as it is long. */
#define ALIVE_MAX 65536

struct pattern {
	char *text;
	size_t len;
	bool fold; /* hex digits */
};

struct echo {
	struct pattern patterns[PATTERNS];
	size_t count;
	bool begins[256];
	bool goes_on[256][256]; /* with that second byte: nearly nothing does */
};

/* Within an escape: what has been read of it. */
enum escape { PLAIN, PERCENT, PERCENT_HEX, BACKSLASH, UNICODE };

/* One way in which the last bytes are the first of a pattern. */
struct alive {
	size_t start; /* in held */
	size_t at;    /* bytes of the pattern that are there */
	uint8_t pattern, escape, digits, value;
};

struct echo_stream {
	const struct echo *echo;
	struct buffer held;
	struct alive *alive, *next;
	size_t alive_count, next_count, size;
	uint64_t found;
};

/* Either case of a hex digit; how many. */
static size_t cases_of(const struct pattern *p, size_t at, unsigned char ret[2])
{
	ret[0] = (unsigned char)p->text[at];
	ret[1] = ret[0] & (unsigned char)~0x20;
	return p->fold && ret[0] >= 'a' ? 2 : 1;
}

static void add_beginning(struct echo *echo, const struct pattern *p)
{
	unsigned char first[2], second[2];
	size_t firsts = cases_of(p, 0, first), seconds = cases_of(p, 1, second);

	for (size_t i = 0; i < firsts; i++) {
		echo->begins[first[i]] = true;
		for (size_t j = 0; j < seconds; j++)
			echo->goes_on[first[i]][second[j]] = true;
		echo->goes_on[first[i]]['%'] = echo->goes_on[first[i]]['\\'] = true;
	}
}

/* What any byte of a secret may be written as. */
static void add_escapes(struct echo *echo)
{
	echo->begins['%'] = echo->begins['\\'] = true;
	for (const char *c = "0123456789abcdefABCDEF"; *c; c++)
		echo->goes_on['%'][(unsigned char)*c] = true;
	for (const char *c = "u\"\\/"; *c; c++)
		echo->goes_on['\\'][(unsigned char)*c] = true;
}

static int add_pattern(struct echo *echo, const char *text, size_t len, bool fold)
{
	struct pattern *p = &echo->patterns[echo->count];

	for (size_t i = 0; i < echo->count; i++)
		if (echo->patterns[i].len == len && !memcmp(echo->patterns[i].text, text, len))
			return 0;
	p->text = malloc(len);
	if (!p->text)
		return -ENOMEM;
	memcpy(p->text, text, len);
	p->len = len;
	p->fold = fold;
	echo->count++;
	add_beginning(echo, p);
	return 0;
}

/* The characters that the secret alone decides, with before bytes of anybody's before it. */
static int add_base64(struct echo *echo, const char *secret, size_t len, size_t before,
		      const char *digits)
{
	size_t first = (8 * before + 5) / 6, last = 8 * (before + len) / 6;
	char text[(ECHO_SECRET_MAX + 3) * 4 / 3];

	for (size_t i = first; i < last; i++) {
		unsigned int value = 0;

		for (size_t bit = 6 * i; bit < 6 * i + 6; bit++) {
			unsigned char c = (unsigned char)secret[bit / 8 - before];

			value = value << 1 | (c >> (7 - bit % 8) & 1u);
		}
		text[i - first] = digits[value];
	}
	return add_pattern(echo, text, last - first, false);
}

int echo_new(const char *secret, size_t len, struct echo **ret)
{
	static const char *const digits[] = {
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
	};
	char hex[2 * ECHO_SECRET_MAX + 1];
	struct echo *echo;
	int r;

	if (len < ECHO_SECRET_MIN || len > ECHO_SECRET_MAX)
		return -EINVAL;
	echo = calloc(1, sizeof(*echo));
	if (!echo)
		return -ENOMEM;
	r = add_pattern(echo, secret, len, false);
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)secret[i]);
	if (r == 0)
		r = add_pattern(echo, hex, 2 * len, true);
	for (size_t i = 0; r == 0 && i < 6; i++)
		r = add_base64(echo, secret, len, i % 3, digits[i / 3]);
	explicit_bzero(hex, sizeof(hex));
	add_escapes(echo);
	if (r < 0)
		echo_free(echo);
	else
		*ret = echo;
	return r;
}

void echo_free(struct echo *echo)
{
	for (size_t i = 0; echo && i < echo->count; i++) {
		explicit_bzero(echo->patterns[i].text, echo->patterns[i].len);
		free(echo->patterns[i].text);
	}
	free(echo);
}

int echo_stream_new(const struct echo *echo, struct echo_stream **ret)
{
	struct echo_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	stream->echo = echo;
	*ret = stream;
	return 0;
}

void echo_stream_free(struct echo_stream *stream)
{
	if (!stream)
		return;
	buffer_done(&stream->held);
	free(stream->alive);
	free(stream->next);
	free(stream);
}

uint64_t echo_found(const struct echo_stream *stream)
{
	return stream->found;
}

static int hex_value(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int keep(struct echo_stream *s, struct alive a)
{
	if (s->next_count == s->size) {
		size_t size = s->size ? 2 * s->size : 32;
		struct alive *next, *alive;

		if (size > ALIVE_MAX)
			return -E2BIG;
		next = realloc(s->next, size * sizeof(*next));
		if (next)
			s->next = next;
		alive = realloc(s->alive, size * sizeof(*alive));
		if (alive)
			s->alive = alive;
		if (!next || !alive)
			return -ENOMEM;
		s->size = size;
	}
	s->next[s->next_count++] = a;
	return 0;
}

/* The byte c of the secret has been read, in whichever form. */
static int advance(struct echo_stream *s, struct alive a, unsigned char c)
{
	const struct pattern *p = &s->echo->patterns[a.pattern];
	unsigned char wanted = (unsigned char)p->text[a.at];

	if (c != wanted && !(p->fold && c >= 'A' && c <= 'F' && (c | 0x20) == wanted))
		return 0;
	a.escape = PLAIN;
	if (++a.at < p->len)
		return keep(s, a);
	memset(s->held.data + s->held.start + a.start, '*', buffer_has(&s->held) - a.start);
	s->found++;
	return 0;
}

static int step(struct echo_stream *s, struct alive a, unsigned char c)
{
	int digit = hex_value(c), r;

	switch ((enum escape)a.escape) {
	case PLAIN:
		r = advance(s, a, c);
		if (r < 0 || (c != '%' && c != '\\'))
			return r;
		a.escape = c == '%' ? PERCENT : BACKSLASH;
		return keep(s, a);
	case PERCENT:
		if (digit < 0)
			return 0;
		a.escape = PERCENT_HEX;
		a.value = (uint8_t)digit;
		return keep(s, a);
	case PERCENT_HEX:
		return digit < 0 ? 0 : advance(s, a, (unsigned char)(a.value << 4 | digit));
	case BACKSLASH:
		if (c != 'u')
			return strchr("\"\\/", c) && c ? advance(s, a, c) : 0;
		a.escape = UNICODE;
		a.digits = a.value = 0;
		return keep(s, a);
	case UNICODE:
		/* The first two of four are 0. */
		if (digit < 0 || (a.digits < 2 && digit))
			return 0;
		a.value = (uint8_t)(a.value << 4 | digit);
		if (++a.digits == 4)
			return advance(s, a, a.value);
		return keep(s, a);
	}
	return 0;
}

/* What no way that is alive begins before is no part of the secret. */
static int give(struct echo_stream *s, struct buffer *out)
{
	size_t first = buffer_has(&s->held);
	int r;

	for (size_t i = 0; i < s->alive_count; i++)
		if (s->alive[i].start < first)
			first = s->alive[i].start;
	if (!first)
		return 0;
	r = buffer_add(out, s->held.data + s->held.start, first);
	s->held.start += first;
	for (size_t i = 0; i < s->alive_count; i++)
		s->alive[i].start -= first;
	if (!buffer_has(&s->held))
		s->held.start = s->held.end = 0;
	return r;
}

static int feed_byte(struct echo_stream *s, char c, struct buffer *out)
{
	struct alive fresh = { .start = buffer_has(&s->held) }, *swap;
	int r = buffer_add(&s->held, &c, 1);

	s->next_count = 0;
	for (size_t i = 0; r == 0 && i < s->alive_count; i++)
		r = step(s, s->alive[i], (unsigned char)c);
	for (size_t i = 0; r == 0 && s->echo->begins[(unsigned char)c] && i < s->echo->count; i++) {
		fresh.pattern = (uint8_t)i;
		r = step(s, fresh, (unsigned char)c);
	}
	swap = s->alive;
	s->alive = s->next;
	s->alive_count = s->next_count;
	s->next = swap;
	return r < 0 ? r : give(s, out);
}

/* From there on, with nothing alive: where something could begin. */
static size_t skip(const struct echo *echo, const char *data, size_t len, size_t at)
{
	const unsigned char *bytes = (const unsigned char *)data;

	while (at < len && (!echo->begins[bytes[at]] ||
			    (at + 1 < len && !echo->goes_on[bytes[at]][bytes[at + 1]])))
		at++;
	return at;
}

int echo_feed(struct echo_stream *s, const char *data, size_t len, struct buffer *out)
{
	size_t i = 0;
	int r = 0;

	while (r == 0 && i < len) {
		size_t run = s->alive_count ? i : skip(s->echo, data, len, i);

		if (run > i)
			r = buffer_add(out, data + i, run - i);
		i = run;
		if (r == 0 && i < len)
			r = feed_byte(s, data[i++], out);
	}
	return r;
}

int echo_finish(struct echo_stream *s, struct buffer *out)
{
	s->alive_count = 0;
	return give(s, out);
}

int echo_text(const struct echo *echo, char *text, size_t len)
{
	struct echo_stream *stream = NULL;
	struct buffer out = {};
	int r = echo_stream_new(echo, &stream);

	if (r == 0)
		r = echo_feed(stream, text, len, &out);
	if (r == 0)
		r = echo_finish(stream, &out);
	if (r == 0) {
		buffer_take(&out, text, len);
		r = (int)stream->found;
	}
	echo_stream_free(stream);
	buffer_done(&out);
	return r;
}
