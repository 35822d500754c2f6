// SPDX-License-Identifier: GPL-2.0-only
/* Whatever was done to a ledger is found, where it was done, and called what it is. */
#include "ledger_lab.h"

#define LINES 6

struct lines {
	char *data, *work;
	size_t s[LINES + 1];
};

static struct lines made(void)
{
	struct lines l;

	l.data = make_ledger(LINES, l.s);
	l.work = malloc(3 * l.s[LINES]);
	assert_non_null(l.work);
	return l;
}

static void done(struct lines *l)
{
	free(l->data);
	free(l->work);
}

static size_t len_of(const struct lines *l, int line)
{
	return l->s[line] - l->s[line - 1];
}

/* The lines of that order as a file; 0 ends it. */
static void arranged(struct lines *l, const int *order)
{
	size_t len = 0;

	for (; *order; order++) {
		memcpy(l->work + len, l->data + l->s[*order - 1], len_of(l, *order));
		len += len_of(l, *order);
	}
	write_file(BM_LEDGER_NAME, l->work, len);
}

static uint64_t line_of(const struct lines *l, size_t at)
{
	uint64_t line = 1;

	while (l->s[line] <= at)
		line++;
	return line;
}

static void each_changed_byte(void **state)
{
	static const char masks[] = { 0x01, 0x20, (char)0x80 };
	struct lines l = made();

	(void)state;
	for (size_t i = 0; i < l.s[LINES] * sizeof(masks); i++) {
		size_t at = i / sizeof(masks);
		char was = l.data[at];

		l.data[at] ^= masks[i % sizeof(masks)];
		write_file(BM_LEDGER_NAME, l.data, l.s[LINES]);
		broken(at == l.s[LINES] - 1 ? BM_BREAK_TRUNCATED : BM_BREAK_CHANGED, BM_LEDGER_NAME,
		       line_of(&l, at));
		l.data[at] = was;
	}
	done(&l);
}

static void each_missing_byte(void **state)
{
	struct lines l = made();

	(void)state;
	for (size_t at = 0; at < l.s[LINES]; at++) {
		memcpy(l.work, l.data, at);
		memcpy(l.work + at, l.data + at + 1, l.s[LINES] - at - 1);
		write_file(BM_LEDGER_NAME, l.work, l.s[LINES] - 1);
		broken(at == l.s[LINES] - 1 ? BM_BREAK_TRUNCATED : BM_BREAK_CHANGED, BM_LEDGER_NAME,
		       line_of(&l, at));
	}
	done(&l);
}

static void each_byte_too_many(void **state)
{
	static const char bytes[] = { '0', '\n', '\0', '}' };
	struct lines l = made();

	(void)state;
	for (size_t i = 0; i < l.s[LINES] * sizeof(bytes); i++) {
		size_t at = i / sizeof(bytes);
		char byte = bytes[i % sizeof(bytes)];
		/* An empty line beside a whole one is a line too many. */
		bool before = byte == '\n' && (at == 0 || l.data[at - 1] == '\n');
		bool behind = byte == '\n' && l.data[at] == '\n';

		memcpy(l.work, l.data, at);
		l.work[at] = byte;
		memcpy(l.work + at + 1, l.data + at, l.s[LINES] - at);
		write_file(BM_LEDGER_NAME, l.work, l.s[LINES] + 1);
		/* At the very end a power cut may have left it. */
		if (behind && at == l.s[LINES] - 1)
			assert_int_equal(verified("torn"), 1);
		else
			broken(before || behind ? BM_BREAK_INSERTED : BM_BREAK_CHANGED,
			       BM_LEDGER_NAME, line_of(&l, at) + behind);
	}
	done(&l);
}

static void lines_removed(void **state)
{
	struct lines l = made();

	(void)state;
	for (int first = 1; first <= LINES; first++) {
		for (int last = first; last <= LINES; last++) {
			int order[LINES + 1], n = 0;

			for (int i = 1; i <= LINES; i++)
				if (i < first || i > last)
					order[n++] = i;
			order[n] = 0;
			arranged(&l, order);
			if (last == LINES)
				broken(BM_BREAK_TRUNCATED, BM_LEDGER_NAME, (uint64_t)first);
			else
				broken(BM_BREAK_REMOVED, BM_LEDGER_NAME, (uint64_t)first);
		}
	}
	removed(BM_LEDGER_NAME);
	broken(BM_BREAK_TRUNCATED, BM_LEDGER_NAME, 1);
	done(&l);
}

static void lines_reordered(void **state)
{
	struct lines l = made();

	(void)state;
	for (int a = 1; a <= LINES; a++) {
		for (int b = a + 1; b <= LINES; b++) {
			int order[LINES + 1] = { 1, 2, 3, 4, 5, 6, 0 };

			order[a - 1] = b;
			order[b - 1] = a;
			arranged(&l, order);
			broken(BM_BREAK_REORDERED, BM_LEDGER_NAME, (uint64_t)a);
		}
	}
	/* Moved, not swapped. */
	arranged(&l, (int[]){ 1, 4, 2, 3, 5, 6, 0 });
	broken(BM_BREAK_REORDERED, BM_LEDGER_NAME, 2);
	arranged(&l, (int[]){ 1, 3, 4, 5, 2, 6, 0 });
	broken(BM_BREAK_REORDERED, BM_LEDGER_NAME, 2);
	done(&l);
}

static void lines_copied(void **state)
{
	struct lines l = made();

	(void)state;
	for (int copied = 1; copied <= LINES; copied++) {
		for (int to = 0; to <= LINES; to++) {
			int order[LINES + 2], n = 0;
			/* Beside itself there is no telling which is the copy. */
			int at = to == copied - 1 ? to + 2 : to + 1;

			for (int i = 0; i <= LINES; i++) {
				if (i)
					order[n++] = i;
				if (i == to)
					order[n++] = copied;
			}
			order[n] = 0;
			arranged(&l, order);
			broken(BM_BREAK_INSERTED, BM_LEDGER_NAME, (uint64_t)at);
		}
	}
	/* In place of another. */
	arranged(&l, (int[]){ 1, 2, 3, 2, 5, 6, 0 });
	broken(BM_BREAK_CHANGED, BM_LEDGER_NAME, 4);
	arranged(&l, (int[]){ 1, 2, 3, 4, 5, 3, 0 });
	broken(BM_BREAK_CHANGED, BM_LEDGER_NAME, 6);
	done(&l);
}

/* A line by somebody who knows how lines are made, and has no key. */
static size_t forge(char *line, uint64_t n, const char *prev)
{
	unsigned char hash[32];
	char hex[65];
	int len = snprintf(line, 300,
			   "{\"n\":%d,\"time\":\"t\",\"event\":\"grant\",\"prev\":\"%.64s\"",
			   (int)n, prev);

	crypto_generichash(hash, 32, (unsigned char *)line, (size_t)len, NULL, 0);
	sodium_bin2hex(hex, sizeof(hex), hash, 32);
	return (size_t)(len + snprintf(line + len, 80, ",\"hash\":\"%s\"}\n", hex));
}

static const char *hash_at_end(const char *end)
{
	return end - 67;
}

static void lines_forged(void **state)
{
	static const char zeros[] =
		"0000000000000000000000000000000000000000000000000000000000000000";
	struct lines l = made();

	(void)state;
	for (int at = 1; at <= LINES + 1; at++) {
		const char *prev = at > 1 ? hash_at_end(l.data + l.s[at - 1]) : zeros;
		size_t head = l.s[at - 1], len;

		/* One more, in its right place: the line behind tells that it is the stranger. */
		memcpy(l.work, l.data, head);
		len = head + forge(l.work + head, (uint64_t)at, prev);
		memcpy(l.work + len, l.data + head, l.s[LINES] - head);
		write_file(BM_LEDGER_NAME, l.work, len + l.s[LINES] - head);
		if (at < LINES)
			broken(BM_BREAK_INSERTED, BM_LEDGER_NAME, (uint64_t)at);
		if (at > LINES)
			continue;
		/* In place of one, and the rest as it was. */
		memcpy(l.work + len, l.data + l.s[at], l.s[LINES] - l.s[at]);
		write_file(BM_LEDGER_NAME, l.work, len + l.s[LINES] - l.s[at]);
		broken(BM_BREAK_CHANGED, BM_LEDGER_NAME, (uint64_t)at);
		/* And all behind it made anew: the signature tells, of the last line. */
		for (int i = at + 1; i <= LINES; i++)
			len += forge(l.work + len, (uint64_t)i, hash_at_end(l.work + len));
		write_file(BM_LEDGER_NAME, l.work, len);
		broken(BM_BREAK_CHANGED, BM_LEDGER_NAME, LINES);
	}
	/* Behind the end: one is what a crash may leave unsigned, two are not. */
	memcpy(l.work, l.data, l.s[LINES]);
	size_t len = l.s[LINES];

	len += forge(l.work + len, LINES + 1, hash_at_end(l.work + len));
	len += forge(l.work + len, LINES + 2, hash_at_end(l.work + len));
	write_file(BM_LEDGER_NAME, l.work, len);
	broken(BM_BREAK_INSERTED, BM_LEDGER_NAME, LINES + 1);
	/* Another ledger's line. */
	memcpy(l.work, l.data, l.s[4]);
	len = l.s[4] + forge(l.work + l.s[4], 5, zeros);
	memcpy(l.work + len, l.data + l.s[4], l.s[LINES] - l.s[4]);
	write_file(BM_LEDGER_NAME, l.work, len + l.s[LINES] - l.s[4]);
	broken(BM_BREAK_INSERTED, BM_LEDGER_NAME, 5);
	write_file(BM_LEDGER_NAME, "\n\n", 2);
	broken(BM_BREAK_CHANGED, BM_LEDGER_NAME, 1);
	done(&l);
}

/* What is known from elsewhere finds what went with the head. */
static void known_from_elsewhere(void **state)
{
	struct lines l = made();
	autofree char *heads = read_dir(BM_HEAD_NAME, NULL);
	struct bm_ledger *ledger = opened();
	struct bm_mark mark = { *bm_ledger_head(ledger), "a receipt", false, false };
	struct bm_verify how = { &mark, 1, NULL, true };
	struct bm_chain later = mark.at, other = mark.at;
	autojson *report = NULL, *again = NULL;
	struct bm_break found = {};

	(void)state;
	append(ledger, "later", "");
	later = *bm_ledger_head(ledger);
	bm_ledger_close(ledger);
	assert_int_equal(bm_ledger_verify(dir, &how, &report, NULL, NULL), 0);
	assert_true(mark.seen && mark.same);
	ledger = NULL;
	assert_int_equal(bm_ledger_open(dir, &later, &ledger, NULL), 0);
	bm_ledger_close(ledger);
	/* All of it as it was before that line, head and all. */
	write_file(BM_LEDGER_NAME, l.data, l.s[LINES]);
	write_file(BM_HEAD_NAME, heads, 2 * BM_HEAD_LEN);
	assert_int_equal(verified("lines"), LINES);
	mark = (struct bm_mark){ later, "the head in the kernel", false, false };
	REFUSED(EBADMSG, bm_ledger_verify(dir, &how, &again, &found, err));
	assert_int_equal(found.kind, BM_BREAK_TRUNCATED);
	assert_int_equal(found.line, LINES + 1);
	REFUSED(EBADMSG, bm_ledger_open(dir, &later, &ledger, err));
	other.hash[3] ^= 1;
	mark = (struct bm_mark){ other, "a receipt", false, false };
	REFUSED(EBADMSG, bm_ledger_verify(dir, &how, &again, &found, err));
	assert_int_equal(found.kind, BM_BREAK_CHANGED);
	REFUSED(EBADMSG, bm_ledger_open(dir, &other, &ledger, err));
	/* And with no ledger at all. */
	emptied(true);
	REFUSED(EBADMSG, bm_ledger_open(dir, &later, &ledger, err));
	assert_int_equal(faccessat(dir, BM_LEDGER_NAME, F_OK, 0), -1);
	done(&l);
}

static void heads_changed(void **state)
{
	struct lines l = made();
	size_t len;
	autofree char *heads = read_dir(BM_HEAD_NAME, &len);
	autofree char *foreign = NULL;
	struct bm_ledger *ledger = NULL;
	autojson *report = NULL;

	(void)state;
	for (size_t at = 0; at < len; at++) {
		struct bm_head head = {};
		struct bm_error err = {};
		autoclose fd = -1;
		int slot = -1;

		heads[at] ^= 1;
		write_file(BM_HEAD_NAME, heads, len);
		fd = openat(dir, BM_HEAD_NAME, O_RDONLY);
		assert_int_equal(bm_head_read(fd, &head, &slot, &err), 0);
		/* The other one holds, or what was changed is only the padding. */
		assert_true(head.at.n == LINES || head.at.n == LINES - 1);
		heads[at] ^= 1;
	}
	/* Both: neither is believed. */
	heads[40] ^= 1;
	heads[512 + 40] ^= 1;
	write_file(BM_HEAD_NAME, heads, len);
	REFUSED(EBADMSG, verify(&report, NULL, err));
	REFUSED(EBADMSG, bm_ledger_open(dir, NULL, &ledger, err));
	heads[40] ^= 1;
	heads[512 + 40] ^= 1;
	removed(BM_HEAD_NAME);
	REFUSED(EBADMSG, bm_ledger_open(dir, NULL, &ledger, err));
	/* With another key: by somebody who has root, and not the old key. */
	emptied(true);
	bm_ledger_close(opened());
	ledger = opened();
	for (int i = 1; i < LINES; i++)
		append(ledger, "x", "");
	bm_ledger_close(ledger);
	foreign = read_dir(BM_HEAD_NAME, NULL);
	emptied(true);
	write_file(BM_LEDGER_NAME, l.data, l.s[LINES]);
	write_file(BM_HEAD_NAME, foreign, len);
	ledger = NULL;
	REFUSED(EBADMSG, verify(&report, NULL, err));
	write_file(BM_HEAD_NAME, heads, len);
	assert_int_equal(verified("lines"), LINES);
	struct bm_verify how = { .key = "00", .ours = true };

	REFUSED(EKEYREJECTED, bm_ledger_verify(dir, &how, &report, NULL, err));
	/* The key is gone, and nothing is signed with a new one in silence. */
	REFUSED(ENOENT, bm_ledger_open(dir, NULL, &ledger, err));
	done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_changed_byte), TEST(each_missing_byte),    TEST(each_byte_too_many),
		TEST(lines_removed),     TEST(lines_reordered),      TEST(lines_copied),
		TEST(lines_forged),      TEST(known_from_elsewhere), TEST(heads_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
