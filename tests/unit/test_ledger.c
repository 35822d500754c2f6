// SPDX-License-Identifier: GPL-2.0-only
/* What is written, and what is refused to be. */
#include <signal.h>
#include <sys/resource.h>

#include "ledger_lab.h"

#define SCHEMA_PATH "userspace/audit/ledger.schema.json"
#include "tests/unit/schema.h"

static void ledger_appends(void **state)
{
	struct bm_ledger *ledger = opened();
	autofree char *data = NULL;
	struct seen seen;
	struct stat st;

	(void)state;
	assert_int_equal(fstatat(dir, BM_LEDGER_NAME, &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(fstatat(dir, BM_LEDGER_KEY, &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(replayed(ledger).count, 1);
	append(ledger, "create", "one");
	assert_int_equal(bm_ledger_append(ledger, "grant", NULL, NULL), 0);
	bm_ledger_close(ledger);
	assert_int_equal(verified("lines"), 3);
	assert_int_equal(verified("unsigned"), 0);

	ledger = opened();
	append(ledger, "revoke", "three");
	seen = replayed(ledger);
	assert_int_equal(seen.count, 4);
	assert_string_equal(seen.event, "revoke");
	assert_int_equal(bm_ledger_head(ledger)->n, 4);
	bm_ledger_close(ledger);
	data = read_dir(BM_LEDGER_NAME, NULL);
	assert_int_equal(strncmp(data, "{\"n\":1,\"time\":\"2", 16), 0);
	assert_non_null(strstr(data, "\"event\":\"begin\",\"file\":1,\"key\":\""));
	assert_non_null(strstr(data, "\"event\":\"create\",\"value\":\"one\",\"prev\":\""));
}

/* The definition in audit/README.md, computed apart from the code. */
static void ledger_hash_is_as_documented(void **state)
{
	size_t starts[3];
	autofree char *data = make_ledger(2, starts);
	char *second = data + starts[1], *end = strstr(second, ",\"hash\":\"");
	unsigned char hash[32];
	char hex[65];

	(void)state;
	crypto_generichash(hash, 32, (unsigned char *)second, (size_t)(end - second), NULL, 0);
	sodium_bin2hex(hex, sizeof(hex), hash, 32);
	assert_memory_equal(end + 9, hex, 64);
	assert_memory_equal(end + 73, "\"}\n", 3);
	assert_memory_equal(end - 65, data + starts[1] - 67, 64);
}

static void head_is_as_documented(void **state)
{
	static const char domain[] = "benchmon ledger head 1\n";
	unsigned char bytes[600], sig[64], key[32];
	size_t starts[4], len;
	autofree char *data = make_ledger(3, starts), *heads = read_dir(BM_HEAD_NAME, &len);
	char *line = heads, *end, hex[65];

	(void)state;
	assert_int_equal(len, 1024);
	assert_int_equal(heads[511], '\n');
	assert_int_equal(heads[1023], '\n');
	if (strncmp(line, "{\"n\":3,", 7))
		line += 512;
	assert_int_equal(strncmp(line, "{\"n\":3,\"hash\":\"", 15), 0);
	assert_memory_equal(line + 15, data + starts[3] - 67, 64);
	end = strstr(line, ",\"sig\":\"");
	memcpy(bytes, domain, sizeof(domain) - 1);
	memcpy(bytes + sizeof(domain) - 1, line, (size_t)(end - line));
	assert_int_equal(sodium_hex2bin(sig, 64, end + 8, 128, NULL, NULL, NULL), 0);
	snprintf(hex, sizeof(hex), "%.64s", strstr(line, "\"key\":\"") + 7);
	assert_int_equal(sodium_hex2bin(key, 32, hex, 64, NULL, NULL, NULL), 0);
	assert_int_equal(crypto_sign_verify_detached(
				 sig, bytes, sizeof(domain) - 1 + (size_t)(end - line), key),
			 0);
	/* And the ledger itself names that key. */
	assert_non_null(strstr(data, hex));
}

static int fits(void *ctx, uint64_t n, const char *event, struct json_object *json,
		struct bm_error *err)
{
	(void)err;
	(void)n;
	if (!schema_fits(loaded_schema, json, loaded_schema))
		fail_msg("%s does not fit", event);
	/* And no line does without what each has. */
	json_object_object_del(json, "prev");
	assert_false(schema_fits(loaded_schema, json, loaded_schema));
	(*(int *)ctx)++;
	return 0;
}

static int nothing_stands(void *ctx, struct bm_error *err)
{
	(void)ctx;
	(void)err;
	return 0;
}

static void lines_fit_the_schema(void **state)
{
	struct bm_ledger *ledger = opened();
	int count = 0;
	char old[64];

	(void)state;
	append(ledger, "grant", "x");
	assert_int_equal(bm_ledger_replay(ledger, fits, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_int_equal(bm_ledger_rotate(ledger, NULL, nothing_stands, NULL, old, NULL), 0);
	assert_int_equal(bm_ledger_replay(ledger, fits, &count, NULL), 0);
	assert_int_equal(count, 3);
	bm_ledger_close(ledger);
}

static void heads_as_text(void **state)
{
	static const char *const bad[] = { "",      "3",    ":",     "3:",    "0:%s", "x:%s",
					   "3:%s0", "3 %s", "+3:%s", " 3:%s", "3:%sg" };
	struct bm_chain at, back = { .n = 7 };
	char text[BM_HEAD_TEXT_LEN], wrong[BM_HEAD_TEXT_LEN + 8];

	(void)state;
	bm_chain_start(&at);
	at.n = UINT64_MAX;
	at.hash[5] = 'a';
	assert_int_equal(bm_head_text_parse(bm_head_text(&at, text), &back), 0);
	assert_true(bm_chain_equal(&at, &back));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *hash = strstr(bad[i], "%s");

		snprintf(wrong, sizeof(wrong), "%.*s%s%s", hash ? (int)(hash - bad[i]) : 9, bad[i],
			 hash ? at.hash : "", hash ? hash + 2 : "");
		assert_int_equal(bm_head_text_parse(wrong, &back), -EINVAL);
	}
}

static void limit_file_size(size_t size)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size ?: limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void ledger_full_disk_leaves_nothing(void **state)
{
	size_t s[3], len, room[] = { 0, 1, 40, 200 };
	autofree char *data = make_ledger(2, s);

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < sizeof(room) / sizeof(room[0]); i++) {
		struct bm_ledger *ledger = opened();
		autofree char *after = NULL;
		int r;

		limit_file_size(s[2] + room[i]);
		/* Asking for room fails, or, where that may be had beyond the limit, writing. */
		r = bm_ledger_append(ledger, "grant", NULL, NULL);
		assert_true(r == -EFBIG || r == -ENOSPC);
		assert_int_equal(bm_ledger_owe(ledger, "revoke", NULL, NULL), 1);
		limit_file_size(0);
		after = read_dir(BM_LEDGER_NAME, &len);
		assert_int_equal(len, s[2]);
		assert_memory_equal(after, data, len);
		bm_ledger_close(ledger);
		assert_int_equal(verified("lines"), 2);
	}
}

/* What has ended is written once there is room, in its order, and before anything else. */
static void ledger_owes(void **state)
{
	static const char *const wanted[] = { "revoke", "destroy", "grant" };
	struct bm_ledger *ledger = opened();
	autojson *one = fields("value", "first");
	autofree char *data = NULL;
	char *at;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	limit_file_size((size_t)bm_ledger_size(ledger));
	assert_int_equal(bm_ledger_owe(ledger, "revoke", one, NULL), 1);
	assert_int_equal(bm_ledger_owe(ledger, "destroy", NULL, NULL), 1);
	REFUSED(EFBIG, bm_ledger_append(ledger, "grant", NULL, err));
	assert_int_equal(bm_ledger_settle(ledger), 2);
	assert_int_equal(bm_ledger_head(ledger)->n, 1);
	limit_file_size(0);
	append(ledger, "grant", "");
	assert_int_equal(bm_ledger_owed(ledger), 0);
	bm_ledger_close(ledger);
	assert_int_equal(verified("lines"), 4);
	at = data = read_dir(BM_LEDGER_NAME, NULL);
	for (size_t i = 0; i < 3; i++) {
		char text[64];

		snprintf(text, sizeof(text), "\"event\":\"%s\"", wanted[i]);
		at = strstr(at, text);
		assert_non_null(at);
	}
	assert_non_null(strstr(data, "\"value\":\"first\",\"happened\":\"2"));
	/* And is no one's any more when it is closed before. */
	ledger = opened();
	limit_file_size((size_t)bm_ledger_size(ledger));
	assert_int_equal(bm_ledger_owe(ledger, "revoke", one, NULL), 1);
	limit_file_size(0);
	assert_int_equal(bm_ledger_settle(ledger), 0);
	assert_int_equal(bm_ledger_owe(ledger, "revoke", one, NULL), 0);
	bm_ledger_close(ledger);
	assert_int_equal(verified("lines"), 6);
}

static void ledger_refuses_fields(void **state)
{
	static const char *const reserved[] = { "n", "time", "event", "prev", "hash" };
	autofree char *huge = calloc(1, 70000);
	struct bm_ledger *ledger = opened();

	(void)state;
	memset(huge, 'x', 69999);
	for (size_t i = 0; i < 5; i++) {
		autojson *json = fields(reserved[i], "");

		REFUSED(EINVAL, bm_ledger_append(ledger, "grant", json, err));
		REFUSED(EINVAL, bm_ledger_owe(ledger, "revoke", json, err));
	}
	autojson *large = fields("value", huge);
	autojson *bytes = fields("value", "\xff\xfe");

	REFUSED(EMSGSIZE, bm_ledger_append(ledger, "grant", large, err));
	REFUSED(EBADMSG, bm_ledger_append(ledger, "grant", bytes, err));
	append(ledger, "grant", "");
	bm_ledger_close(ledger);
	assert_int_equal(verified("lines"), 2);
}

static int stop_at_two(void *ctx, uint64_t n, const char *event, struct json_object *json,
		       struct bm_error *err)
{
	(void)event;
	(void)json;
	*(uint64_t *)ctx = n;
	return n == 2 ? bm_fail(err, ESTALE, NULL, NULL, "line two") : 0;
}

static void ledger_guards_its_file(void **state)
{
	size_t s[4];
	autofree char *data = make_ledger(3, s);
	struct bm_ledger *ledger = opened(), *second = NULL;
	autojson *report = NULL;
	uint64_t n = 0;

	(void)state;
	REFUSED(EBUSY, bm_ledger_open(dir, NULL, &second, err));
	REFUSED(ESTALE, bm_ledger_replay(ledger, stop_at_two, &n, err));
	assert_int_equal(n, 2);
	removed(BM_LEDGER_NAME);
	REFUSED(EIO, bm_ledger_append(ledger, "grant", NULL, err));
	bm_ledger_close(ledger);

	write_file(BM_LEDGER_NAME, data, s[3]);
	ledger = opened();
	write_file(BM_LEDGER_NAME, data, s[2]);
	REFUSED(EIO, bm_ledger_append(ledger, "grant", NULL, err));
	REFUSED(EIO, bm_ledger_replay(ledger, see, &(struct seen){}, err));
	bm_ledger_close(ledger);
	removed(BM_LEDGER_NAME);

	assert_int_equal(symlinkat("elsewhere", dir, BM_LEDGER_NAME), 0);
	REFUSED(ELOOP, bm_ledger_open(dir, NULL, &ledger, err));
	removed(BM_LEDGER_NAME);
	write_file(BM_LEDGER_NAME, data, s[3]);
	assert_int_equal(fchmodat(dir, BM_LEDGER_NAME, 0620, 0), 0);
	REFUSED(EPERM, bm_ledger_open(dir, NULL, &ledger, err));
	REFUSED(EPERM, verify(&report, NULL, err));
	emptied(true);
	REFUSED(ENOENT, verify(&report, NULL, err));
}

struct moves {
	size_t count;
	struct bm_chain last;
};

static void moved(void *ctx, const struct bm_chain *head)
{
	struct moves *moves = ctx;

	moves->count++;
	moves->last = *head;
}

/* Whoever keeps the head is told of each line, once that is on disk. */
static void head_is_told(void **state)
{
	struct bm_ledger *ledger = opened();
	struct moves moves = {};

	(void)state;
	bm_ledger_watch(ledger, moved, &moves);
	assert_int_equal(moves.count, 1);
	assert_int_equal(moves.last.n, 1);
	append(ledger, "grant", "");
	assert_int_equal(moves.count, 2);
	assert_true(bm_chain_equal(&moves.last, bm_ledger_head(ledger)));
	limit_file_size((size_t)bm_ledger_size(ledger));
	signal(SIGXFSZ, SIG_IGN);
	assert_true(bm_ledger_append(ledger, "grant", NULL, NULL) < 0);
	limit_file_size(0);
	assert_int_equal(moves.count, 2);
	bm_ledger_close(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ledger_appends),
		TEST(ledger_hash_is_as_documented),
		TEST(head_is_as_documented),
		TEST(lines_fit_the_schema),
		TEST(heads_as_text),
		TEST(ledger_full_disk_leaves_nothing),
		TEST(ledger_owes),
		TEST(ledger_refuses_fields),
		TEST(ledger_guards_its_file),
		TEST(head_is_told),
	};

	return cmocka_run_group_tests(tests, load_schema, drop_schema);
}
