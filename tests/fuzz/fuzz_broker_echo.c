// SPDX-License-Identifier: GPL-2.0-only
/* However a stream is made and cut, the credential does not come through, and nothing else is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/echo.h"
#include "tests/fuzz/must.h"

#define SECRET "aab%/\"\\-aab9"
#define HEX "616162252f225c2d61616239"

static struct echo *echo;

/* What a byte of the input stands for: itself, or a piece of one of the forms. */
static void append(struct buffer *text, uint8_t c)
{
	static const char *const forms[] = {
		SECRET,
		HEX,
		"aab%25%2F%22%5c-aab9",
		"\\u0061ab%\\/\\\"\\\\-aab9",
		"YWFiJS8iXC1hYWI5",
		"hYWIlLyJcLWFhYj",
		"FhYiUvIlwtYWFiO",
	};
	const char *form = forms[c % 7];

	if (c < 0x80)
		buffer_add(text, &c, 1);
	else if (c < 0xc0)
		buffer_add(text, form, strlen(form));
	else
		buffer_add(text, form, (c >> 3) & 7);
}

static void through(const struct buffer *text, size_t piece, struct buffer *out)
{
	const char *data = text->data + text->start;
	struct echo_stream *stream = NULL;
	size_t len = buffer_has(text);

	MUST(echo_stream_new(echo, &stream) == 0);
	for (size_t i = 0; i < len; i += piece) {
		MUST(echo_feed(stream, data + i, len - i < piece ? len - i : piece, out) == 0);
		/* What waits is shorter than the longest form. */
		MUST(i + piece - buffer_has(out) <= piece + 6 * (2 * strlen(SECRET)));
	}
	MUST(echo_finish(stream, out) == 0);
	echo_stream_free(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer text = {}, one = {}, pieces = {};
	const char *in, *out;
	size_t len;

	if (!echo)
		MUST(echo_new(SECRET, strlen(SECRET), &echo) == 0);
	if (size < 2 || size > 4096)
		return 0;
	for (size_t i = 1; i < size; i++)
		append(&text, data[i]);
	len = buffer_has(&text);
	if (!len)
		return 0;
	through(&text, len, &one);
	through(&text, data[0] % 32 + 1, &pieces);
	MUST(buffer_has(&one) == len && buffer_has(&pieces) == len);
	in = text.data + text.start;
	out = one.data + one.start;
	MUST(!memcmp(out, pieces.data + pieces.start, len));
	for (size_t i = 0; i < len; i++)
		MUST(out[i] == in[i] || out[i] == '*');
	MUST(!memmem(out, len, SECRET, strlen(SECRET)) && !memmem(out, len, HEX, strlen(HEX)));
	/* Of base64 what the secret alone decides. */
	MUST(!memmem(out, len, "YWFiJS8iXC1hYWI5", 16) &&
	     !memmem(out, len, "hYWIlLyJcLWFhYj", 15) && !memmem(out, len, "FhYiUvIlwtYWFiO", 15));
	buffer_done(&text);
	buffer_done(&one);
	buffer_done(&pieces);
	return 0;
}
