// SPDX-License-Identifier: GPL-2.0-only
#include "base/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Length of the UTF-8 sequence at s, 0 when there is no valid one. */
static size_t decode(const unsigned char *s, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80             ? 1
		     : (s[0] & 0xe0) == 0xc0 ? 2
		     : (s[0] & 0xf0) == 0xe0 ? 3
		     : (s[0] & 0xf8) == 0xf0 ? 4
					     : 0;
	uint32_t c;

	if (!len)
		return 0;
	c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return len;
}

static bool misleading(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == '\\' || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

const char *bm_escape(const char *text, char *buf, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t used = 0;

	if (size < 4) {
		if (size)
			buf[0] = '\0';
		return buf;
	}
	while (*s) {
		char piece[16];
		uint32_t c = 0;
		size_t len = decode(s, &c), wanted;

		if (!len)
			snprintf(piece, sizeof(piece), "\\x%02x", *s);
		else if (!misleading(c))
			snprintf(piece, sizeof(piece), "%.*s", (int)len, (const char *)s);
		else if (c < 0x100)
			snprintf(piece, sizeof(piece), "\\x%02x", c);
		else
			snprintf(piece, sizeof(piece), c > 0xffff ? "\\U%08x" : "\\u%04x", c);
		wanted = strlen(piece);
		if (used + wanted + 4 > size) {
			memcpy(buf + used, "...", 3);
			used += 3;
			break;
		}
		memcpy(buf + used, piece, wanted);
		used += wanted;
		s += len ?: 1;
	}
	buf[used] = '\0';
	return buf;
}
