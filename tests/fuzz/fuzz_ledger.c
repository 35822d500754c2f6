// SPDX-License-Identifier: GPL-2.0-only
/*
 * A ledger as anybody may have left it: its lines, its heads, and lines that carry a hash of their
 * own, which the bytes alone would never hit.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "audit/head.h"
#include "audit/ledger.h"
#include "audit/lines.h"
#include "audit/page.h"
#include "audit/scan.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "tests/fuzz/must.h"

static int count(void *ctx, uint64_t n, const char *event, struct json_object *json,
		 struct bm_error *err)
{
	uint64_t *lines = ctx;

	(void)err;
	MUST(event && json);
	MUST(n > 0);
	(*lines)++;
	return 0;
}

/* Whatever it is, it is read to its end, or the place and the kind of the damage are told. */
static void scan(int fd, off_t end, uint64_t signed_n)
{
	struct bm_mark mark = { .who = "a mark" };
	struct bm_break found = {};
	struct bm_error err = {};
	uint64_t lines = 0;
	struct bm_scan_of of = { .fd = fd,
				 .end = end,
				 .name = BM_LEDGER_NAME,
				 .marks = &mark,
				 .mark_count = 1,
				 .signed_n = signed_n,
				 .fn = count,
				 .ctx = &lines };
	struct bm_scan got;
	int r = bm_scan(&of, &got, &found, &err);

	MUST(got.lines == lines && got.length <= end && got.file > 0);
	MUST(got.head.n - got.before.n == lines);
	if (r < 0) {
		MUST(r == -EBADMSG && err.code == EBADMSG && err.message[0]);
		MUST(found.kind > BM_BREAK_NONE && found.kind < BM_BREAK_MAX);
		MUST(found.line > 0 && found.line <= lines + 1);
		return;
	}
	MUST(got.length + got.torn == end);
	/* Again, against what it came to: the same, and nothing is found missing. */
	mark.at = got.head;
	of.signed_n = got.head.n;
	of.end = got.length;
	MUST(bm_scan(&of, &got, &found, &err) == 0 && !got.torn);
	MUST(bm_scan_check_marks(&of, &got, true, NULL, NULL) == 0);
}

/* Each line of the input as the fields of one that is sealed and in its place. */
static int sealed(const char *text, size_t size)
{
	int fd = memfd_create("ledger", MFD_CLOEXEC);
	struct bm_chain head, next;

	bm_chain_start(&head);
	while (fd >= 0 && size) {
		const char *newline = memchr(text, '\n', size);
		size_t len = newline ? (size_t)(newline - text) : size, line_len;
		autojson *fields = NULL;
		autofree char *line = NULL;

		if (bm_json_parse(text, len, "fields", &fields, NULL) == 0 &&
		    bm_chain_seal(&head, 1, head.n ? "state" : "begin", fields, &line, &line_len,
				  &next, NULL) == 0) {
			MUST(bm_chain_sealed(line, line_len - 1));
			MUST(bm_write_all(fd, line, line_len) == 0);
			head = next;
		}
		text += newline ? len + 1 : len;
		size -= newline ? len + 1 : len;
	}
	return fd;
}

static void heads(const char *text, size_t size)
{
	struct bm_head head = {}, again = {};
	char copy[BM_HEAD_TEXT_LEN + 1] = "", back[BM_HEAD_TEXT_LEN];
	struct bm_chain at = {}, same;
	int r = bm_head_parse(text, size, &head, NULL);

	MUST(r == 0 || r == -EBADMSG || r == -EKEYREJECTED);
	MUST(r == 0 || !memcmp(&head, &again, sizeof(head)));
	memcpy(copy, text, size < BM_HEAD_TEXT_LEN ? size : BM_HEAD_TEXT_LEN);
	if (bm_head_text_parse(copy, &at) == 0) {
		bm_head_text(&at, back);
		MUST(bm_head_text_parse(back, &same) == 0 && bm_chain_equal(&at, &same));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	autoclose raw = memfd_create("ledger", MFD_CLOEXEC), made = -1;
	struct stat st;

	if (raw < 0 || sodium_init() < 0 || bm_write_all(raw, data, size) < 0)
		return 0;
	scan(raw, (off_t)size, 0);
	scan(raw, (off_t)size, size ? data[0] % 4 : 0);
	heads(text, size);
	made = sealed(text, size);
	if (made < 0 || fstat(made, &st) < 0)
		return 0;
	scan(made, st.st_size, 0);
	/* And with a byte of it gone wrong. */
	if (st.st_size && size) {
		off_t at = data[size - 1] * st.st_size / 256;
		char byte = 0;

		MUST(pread(made, &byte, 1, at) == 1);
		byte ^= 1;
		MUST(pwrite(made, &byte, 1, at) == 1);
		scan(made, st.st_size, 1000);
	}
	return 0;
}
