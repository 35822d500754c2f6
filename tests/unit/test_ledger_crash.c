// SPDX-License-Identifier: GPL-2.0-only
/* What a power cut leaves, new files, and going on after a loss. */
#include "ledger_lab.h"

/* Lines of files that have ended. */
static uint64_t earlier;

static void opens_with(uint64_t count, const char *event, int64_t bytes)
{
	struct bm_ledger *ledger = opened();
	struct seen seen = replayed(ledger);

	assert_int_equal(seen.count, count);
	assert_string_equal(seen.event, event);
	assert_int_equal(seen.bytes, bytes);
	append(ledger, "next", "");
	bm_ledger_close(ledger);
	assert_int_equal(verified("lines"), earlier + count + 1);
	assert_int_equal(verified("torn"), -1);
}

/* Two lines that were signed, and of the third what the disk has got of it. */
static void power_cut_at_every_byte(void **state)
{
	static const char garbage[] = "x}\n{\"n\":3,\"event\"\n\0\n}";
	struct behind {
		const char *data;
		size_t len;
	} const behind[] = { { "", 0 }, { garbage, sizeof(garbage) - 1 }, { NULL, 4096 } };
	size_t s[4];
	autofree char *data = make_ledger(3, s), *zeros = calloc(1, 4096);
	autofree char *third = read_dir(BM_HEAD_NAME, NULL), *second = read_dir(BM_HEAD_NAME, NULL);
	autofree char *work = calloc(1, s[3] + 4096);

	(void)state;
	/* The head of line 3 is the one that was written last: as it was before. */
	memset(second + (strncmp(second, "{\"n\":3,", 7) ? 512 : 0), ' ', 511);
	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		for (size_t cut = s[2]; cut <= s[3]; cut++) {
			size_t len = cut + behind[i].len;

			memcpy(work, data, cut);
			memcpy(work + cut, behind[i].data ?: zeros, behind[i].len);
			write_file(BM_LEDGER_NAME, work, len);
			write_file(BM_HEAD_NAME, second, 1024);
			if (len == s[2])
				opens_with(2, "event-2", -1);
			else if (cut == s[3] && !behind[i].len)
				opens_with(3, "event-3", -1);
			else if (cut == s[3])
				opens_with(4, "torn", (int64_t)behind[i].len);
			else
				opens_with(3, "torn", (int64_t)(len - s[2]));
		}
	}
	/* Once line 3 is signed it was on disk: without it, somebody has cut it off. */
	for (size_t cut = 0; cut < s[3]; cut++) {
		uint64_t line = 1;

		while (s[line] <= cut)
			line++;
		write_file(BM_LEDGER_NAME, data, cut);
		write_file(BM_HEAD_NAME, third, 1024);
		broken(BM_BREAK_TRUNCATED, BM_LEDGER_NAME, line);
	}
}

/* The head is written in place, one of two at a time: half of one leaves the other. */
static void power_cut_in_a_head(void **state)
{
	size_t s[4];
	autofree char *data = make_ledger(3, s), *heads = read_dir(BM_HEAD_NAME, NULL);
	size_t newest = strncmp(heads, "{\"n\":3,", 7) ? 512 : 0;
	autofree char *work = malloc(1024);

	(void)state;
	for (size_t cut = 0; cut < 511; cut++) {
		memcpy(work, heads, 1024);
		memset(work + newest + cut, '#', 512 - cut);
		write_file(BM_LEDGER_NAME, data, s[3]);
		write_file(BM_HEAD_NAME, work, 1024);
		opens_with(3, "event-3", -1);
	}
}

/* Before there was anything: the first line is there or not, and its head. */
static void power_cut_at_the_beginning(void **state)
{
	size_t s[2];
	autofree char *data = make_ledger(1, s), *key = read_dir(BM_LEDGER_KEY, NULL);

	(void)state;
	for (size_t cut = 0; cut <= s[1]; cut++) {
		emptied(true);
		write_file(BM_LEDGER_KEY, key, 64);
		write_file(BM_LEDGER_NAME, data, cut);
		if (cut % 2)
			write_file(BM_HEAD_NAME, "", 0);
		opens_with(1, "begin", -1);
	}
}

/* A ledger of a version that signed nothing goes on, signed from then on. */
static void never_signed(void **state)
{
	struct bm_ledger *ledger = NULL;
	struct bm_chain head, next;
	char *line = NULL;
	size_t len;

	(void)state;
	emptied(true);
	bm_chain_start(&head);
	for (int i = 0; i < 3; i++) {
		autoclose fd = openat(dir, BM_LEDGER_NAME,
				      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

		assert_int_equal(bm_chain_seal(&head, 1, "old", NULL, &line, &len, &next, NULL), 0);
		assert_int_equal(bm_write_all(fd, line, len), 0);
		free(line);
		head = next;
	}
	opens_with(4, "key", -1);
	/* And from then on a head that is gone was taken away. */
	removed(BM_HEAD_NAME);
	REFUSED(EBADMSG, bm_ledger_open(dir, NULL, &ledger, err));
}

static int restate(void *ctx, struct bm_error *err)
{
	struct bm_ledger *ledger = ctx;
	autojson *json = fields("was", "create");
	int r = bm_ledger_append(ledger, "state", json, err);

	return r < 0 ? r : bm_ledger_append(ledger, "state", json, err);
}

static int no_restating(void *ctx, struct bm_error *err)
{
	restate(ctx, err);
	return bm_fail(err, EDOM, NULL, NULL, "no");
}

static void rotate(struct bm_ledger *ledger, const char *name)
{
	autojson *json = fields("extra", "yes");
	struct bm_error err = {};
	char old[64];

	if (bm_ledger_rotate(ledger, json, restate, ledger, old, &err) != 0)
		fail_msg("%s", err.message);
	assert_string_equal(old, name);
}

/* Three files: 1 to 3, 4 to 7 (begin, two states, one decision), 8 to 11. */
static void make_files(void)
{
	struct bm_ledger *ledger;
	char old[64];

	emptied(true);
	ledger = opened();
	append(ledger, "two", "");
	append(ledger, "three", "");
	assert_int_equal(bm_ledger_rotate(ledger, NULL, no_restating, ledger, old, NULL), -EDOM);
	assert_int_equal(bm_ledger_head(ledger)->n, 3);
	assert_int_equal(verified("lines"), 3);
	rotate(ledger, "ledger-1.jsonl");
	append(ledger, "seven", "");
	rotate(ledger, "ledger-2.jsonl");
	append(ledger, "eleven", "");
	bm_ledger_close(ledger);
}

static const char *state_of(struct json_object *report, size_t i)
{
	struct json_object *list = bm_json_get(report, "files", json_type_array);

	return bm_json_string(json_object_array_get_idx(list, i), "state");
}

static void files_go_on(void **state)
{
	struct bm_ledger *ledger;
	autojson *report = NULL, *missing = NULL, *compressed = NULL;
	struct seen seen;
	size_t len;

	(void)state;
	make_files();
	assert_int_equal(verify(&report, NULL, NULL), 0);
	assert_int_equal(verified("lines"), 11);
	assert_int_equal(verified("first"), 1);
	assert_int_equal(json_object_array_length(bm_json_get(report, "files", json_type_array)),
			 3);
	ledger = opened();
	seen = replayed(ledger);
	/* A start reads the newest alone. */
	assert_int_equal(seen.first, 8);
	assert_int_equal(seen.count, 4);
	assert_int_equal(bm_ledger_file(ledger), 3);
	bm_ledger_close(ledger);
	autofree char *second = read_dir("ledger-2.jsonl", &len);

	assert_non_null(strstr(second, "\"extra\":\"yes\""));
	assert_non_null(
		strstr(second, "\"previous\":{\"name\":\"ledger-1.jsonl\",\"head\":{\"n\":3,"));
	/* The middle is gone, then only another name of it is left: said, and the rest holds. */
	removed("ledger-2.jsonl");
	assert_int_equal(verify(&missing, NULL, NULL), 0);
	assert_string_equal(state_of(missing, 0), "whole");
	assert_string_equal(state_of(missing, 1), "missing");
	assert_string_equal(state_of(missing, 2), "whole");
	write_file("ledger-2.jsonl.gz", "", 0);
	assert_int_equal(verify(&compressed, NULL, NULL), 0);
	assert_string_equal(state_of(compressed, 1), "compressed");
	removed("ledger-1.jsonl");
	removed("ledger-2.jsonl.gz");
	assert_int_equal(verified("first"), 8);
	opens_with(4, "eleven", -1);
}

static void files_are_checked(void **state)
{
	size_t len, second_len;

	(void)state;
	make_files();
	autofree char *first = read_dir("ledger-1.jsonl", &len);
	autofree char *second = read_dir("ledger-2.jsonl", &second_len);
	char *last = strstr(first, "\"event\":\"three\"");

	while (last[-1] != '\n')
		last--;
	for (size_t at = 0; at < len; at++) {
		uint64_t line = 1;

		for (size_t i = 0; i < at; i++)
			line += first[i] == '\n';
		first[at] ^= 1;
		write_file("ledger-1.jsonl", first, len);
		broken(at == len - 1 ? BM_BREAK_TRUNCATED : BM_BREAK_CHANGED, "ledger-1.jsonl",
		       line);
		first[at] ^= 1;
	}
	write_file("ledger-1.jsonl", first, (size_t)(last - first));
	broken(BM_BREAK_TRUNCATED, "ledger-1.jsonl", 3);
	write_file("ledger-1.jsonl", second, second_len);
	broken(BM_BREAK_CHANGED, "ledger-1.jsonl", 1);
	write_file("ledger-1.jsonl", first, len);
	assert_int_equal(verified("lines"), 11);
	/* The newest cut back to a file that was the newest once. */
	write_file(BM_LEDGER_NAME, second, second_len);
	removed("ledger-2.jsonl");
	broken(BM_BREAK_TRUNCATED, BM_LEDGER_NAME, 5);
}

/* At each step of a rotation: before the names, between them, before the head. */
static void power_cut_in_a_rotation(void **state)
{
	struct bm_ledger *ledger;
	size_t before_len, after_len;

	(void)state;
	emptied(true);
	ledger = opened();
	append(ledger, "two", "");
	autofree char *before = read_dir(BM_LEDGER_NAME, &before_len);
	autofree char *heads = read_dir(BM_HEAD_NAME, NULL);

	rotate(ledger, "ledger-1.jsonl");
	bm_ledger_close(ledger);
	autofree char *after = read_dir(BM_LEDGER_NAME, &after_len);

	for (size_t cut = 0; cut <= after_len; cut++) {
		removed("ledger-1.jsonl");
		write_file(BM_LEDGER_NAME, before, before_len);
		write_file(BM_HEAD_NAME, heads, 1024);
		write_file("ledger.new", after, cut);
		opens_with(2, "two", -1);
	}
	write_file(BM_LEDGER_NAME, before, before_len);
	write_file(BM_HEAD_NAME, heads, 1024);
	assert_int_equal(linkat(dir, BM_LEDGER_NAME, dir, "ledger-1.jsonl", 0), 0);
	assert_int_equal(verified("lines"), 2);
	ledger = opened();
	append(ledger, "three", "");
	rotate(ledger, "ledger-1.jsonl");
	bm_ledger_close(ledger);
	assert_int_equal(verified("lines"), 6);

	write_file("ledger-1.jsonl", before, before_len);
	removed(BM_LEDGER_NAME);
	write_file(BM_LEDGER_NAME, after, after_len);
	write_file(BM_HEAD_NAME, heads, 1024);
	assert_int_equal(verified("unsigned"), 3);
	ledger = opened();
	assert_int_equal(replayed(ledger).count, 3);
	assert_int_equal(verified("unsigned"), 0);
	/* A name that is another file's is not taken. */
	write_file("ledger-2.jsonl", "x", 1);
	char old[64];

	REFUSED(EEXIST, bm_ledger_rotate(ledger, NULL, restate, ledger, old, err));
	append(ledger, "on", "");
	bm_ledger_close(ledger);
}

/* In the first line of a new file, and in the head that is signed when it has taken its name. */
static void power_cut_after_a_rotation(void **state)
{
	struct bm_ledger *ledger;
	size_t begun, len;

	(void)state;
	emptied(true);
	ledger = opened();
	append(ledger, "two", "");
	autofree char *old_heads = read_dir(BM_HEAD_NAME, NULL);

	rotate(ledger, "ledger-1.jsonl");
	autofree char *before = read_dir(BM_LEDGER_NAME, &begun);
	autofree char *heads = read_dir(BM_HEAD_NAME, NULL), *torn = malloc(1024);

	append(ledger, "six", "");
	bm_ledger_close(ledger);
	autofree char *after = read_dir(BM_LEDGER_NAME, &len);

	assert_true(len > begun);
	earlier = 2;
	for (size_t cut = begun; cut <= len; cut++) {
		write_file(BM_LEDGER_NAME, after, cut);
		write_file(BM_HEAD_NAME, heads, 1024);
		if (cut == begun)
			opens_with(3, "state", -1);
		else if (cut == len)
			opens_with(4, "six", -1);
		else
			opens_with(4, "torn", (int64_t)(cut - begun));
	}
	for (size_t cut = 0; cut < 1024; cut++) {
		/* Of the two slots the one that the rotation wrote has got so far. */
		if (!memcmp(heads + cut / 512 * 512, old_heads + cut / 512 * 512, 512))
			continue;
		memcpy(torn, heads, 1024);
		memset(torn + cut, '#', 512 - cut % 512);
		write_file(BM_LEDGER_NAME, before, begun);
		write_file(BM_HEAD_NAME, torn, 1024);
		opens_with(3, "state", -1);
	}
	/* Of a file that has ended nothing may be missing, not a byte: its end was signed. */
	autofree char *first = read_dir("ledger-1.jsonl", &len);

	for (size_t cut = 0; cut < len; cut++) {
		uint64_t line = 1;

		for (size_t i = 0; i < cut; i++)
			line += first[i] == '\n';
		write_file("ledger-1.jsonl", first, cut);
		broken(BM_BREAK_TRUNCATED, "ledger-1.jsonl", line);
	}
	earlier = 0;
}

static void accepted(uint64_t kept, uint64_t lines)
{
	autojson *by = fields("how", "test"), *dry = NULL, *said = NULL;
	struct bm_chain head = {};
	struct bm_ledger *ledger = NULL;
	struct bm_error why = {};
	int64_t found = -1;

	assert_true(bm_ledger_open(dir, NULL, &ledger, NULL) < 0);
	assert_int_equal(bm_ledger_accept(dir, NULL, by, true, &dry, &head, &why), 0);
	assert_true(bm_ledger_open(dir, NULL, &ledger, NULL) < 0);
	if (bm_ledger_accept(dir, NULL, by, false, &said, &head, &why) != 0)
		fail_msg("%s", why.message);
	assert_int_equal(bm_json_int(said, "kept", &found), 0);
	assert_int_equal(found, kept);
	assert_int_equal(verified("accepted"), head.n);
	assert_int_equal(verified("lines"), lines);
	ledger = opened();
	assert_true(bm_chain_equal(bm_ledger_head(ledger), &head));
	assert_string_equal(replayed(ledger).event, "accepted");
	append(ledger, "on", "");
	bm_ledger_close(ledger);
	REFUSED(EALREADY, bm_ledger_accept(dir, NULL, by, false, &said, &head, err));
}

static void losses_are_accepted(void **state)
{
	size_t s[6];
	autofree char *data = make_ledger(5, s), *saved = NULL;
	autofree char *heads = read_dir(BM_HEAD_NAME, NULL);
	autoclosedir DIR *all = NULL;
	struct dirent *entry;
	size_t kept = 0;

	(void)state;
	write_file(BM_LEDGER_NAME, data, s[3]);
	accepted(3, 4);
	data[s[2] + 30] ^= 1;
	emptied(false);
	write_file(BM_LEDGER_NAME, data, s[5]);
	write_file(BM_HEAD_NAME, heads, 1024);
	accepted(2, 3);
	/* What was found stays beside, as it was. */
	all = opendir(dir_path);
	while ((entry = readdir(all))) {
		size_t len;

		if (strncmp(entry->d_name, "ledger.refused-", 15))
			continue;
		saved = read_dir(entry->d_name, &len);
		assert_int_equal(len, s[5]);
		assert_memory_equal(saved, data, len);
		kept++;
	}
	assert_int_equal(kept, 1);
	/* Nothing is whole, or nothing is there: on from what was signed. */
	emptied(false);
	write_file(BM_HEAD_NAME, heads, 1024);
	accepted(0, 2);
	assert_int_equal(verified("first"), 6);
	/* The key is gone: another one, and the ledger says so. */
	data[s[2] + 30] ^= 1;
	emptied(true);
	write_file(BM_LEDGER_NAME, data, s[5]);
	write_file(BM_HEAD_NAME, heads, 1024);
	accepted(5, 6);
	emptied(false);
	write_file(BM_LEDGER_NAME, data, s[5]);
	accepted(5, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(power_cut_at_every_byte),
		TEST(power_cut_in_a_head),
		TEST(power_cut_at_the_beginning),
		TEST(never_signed),
		TEST(files_go_on),
		TEST(files_are_checked),
		TEST(power_cut_in_a_rotation),
		TEST(power_cut_after_a_rotation),
		TEST(losses_are_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
