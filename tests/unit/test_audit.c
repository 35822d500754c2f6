// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "audit/ledger.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"

static int dir = -1;
static char dir_path[64];

static void removed(const char *name)
{
	unlinkat(dir, name, 0);
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir_path, sizeof(dir_path), "%s", "/dev/shm/benchmon-ledger-XXXXXX");
	if (!mkdtemp(dir_path)) {
		snprintf(dir_path, sizeof(dir_path), "%s", "/tmp/benchmon-ledger-XXXXXX");
		if (!mkdtemp(dir_path))
			return -1;
	}
	dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	removed(BM_LEDGER_NAME);
	bm_close(dir);
	return rmdir(dir_path);
}

#define REFUSED(number, call)                                                                      \
	do {                                                                                       \
		struct bm_error err_ = {}, *err = &err_;                                           \
		assert_int_equal(call, -(number));                                                 \
		assert_int_equal(err_.code, number);                                               \
		assert_true(err_.message[0]);                                                      \
	} while (0)

static struct json_object *fields(const char *key, const char *value)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, key, value);
	return json;
}

static void append(struct bm_ledger *ledger, const char *event, const char *value)
{
	autojson *json = fields("value", value);

	assert_int_equal(bm_ledger_append(ledger, event, json, NULL), 0);
}

static void write_ledger(const char *data, size_t len)
{
	autoclose fd = openat(dir, BM_LEDGER_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(bm_write_all(fd, data, len), 0);
}

static char *read_dir(const char *name, size_t *ret_len)
{
	char *data = NULL;

	assert_int_equal(bm_read_file(dir, name, 64 << 20, &data, ret_len), 0);
	return data;
}

/* Makes a ledger of count lines; starts[i] is the offset of line i + 1, the last one the end. */
static char *make_ledger(int count, size_t *starts)
{
	struct bm_ledger *ledger = NULL;
	char *data = NULL, name[32];
	size_t len = 0;

	removed(BM_LEDGER_NAME);
	assert_int_equal(bm_ledger_open(dir, &ledger, NULL), 0);
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "event-%d", i + 1);
		append(ledger, name, "a \"quoted\" {value}: \\ \n");
	}
	bm_ledger_close(ledger);
	assert_int_equal(bm_read_file(dir, BM_LEDGER_NAME, 1 << 20, &data, &len), 0);
	starts[0] = 0;
	for (int i = 0; i < count; i++)
		starts[i + 1] = (size_t)(strchr(data + starts[i], '\n') + 1 - data);
	assert_int_equal(starts[count], len);
	return data;
}

struct seen {
	uint64_t count;
	char event[32];
	int64_t bytes;
};

static int see(void *ctx, uint64_t n, const char *event, struct json_object *json,
	       struct bm_error *err)
{
	struct seen *seen = ctx;

	(void)err;
	assert_int_equal(n, ++seen->count);
	snprintf(seen->event, sizeof(seen->event), "%s", event);
	seen->bytes = -1;
	bm_json_int(json, "bytes", &seen->bytes);
	return 0;
}

static struct seen replayed(struct bm_ledger *ledger)
{
	struct seen seen = {};

	assert_int_equal(bm_ledger_replay(ledger, see, &seen, NULL), 0);
	return seen;
}

static void ledger_refused(const char *data, size_t len)
{
	struct bm_ledger *ledger = NULL;
	autofree char *after = NULL;
	uint64_t count = 77;
	size_t after_len;

	write_ledger(data, len);
	REFUSED(EBADMSG, bm_ledger_verify(dir, &count, err));
	REFUSED(EBADMSG, bm_ledger_open(dir, &ledger, err));
	assert_null(ledger);
	assert_int_equal(count, 77);
	after = read_dir(BM_LEDGER_NAME, &after_len);
	assert_int_equal(after_len, len);
	assert_memory_equal(after, data, len);
}

static void ledger_appends(void **state)
{
	struct bm_ledger *ledger = NULL;
	autofree char *data = NULL;
	struct seen seen;
	uint64_t count = 0;
	struct stat st;

	(void)state;
	assert_int_equal(bm_ledger_open(dir, &ledger, NULL), 0);
	assert_int_equal(fstatat(dir, BM_LEDGER_NAME, &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(replayed(ledger).count, 0);
	append(ledger, "create", "one");
	assert_int_equal(bm_ledger_append(ledger, "grant", NULL, NULL), 0);
	bm_ledger_close(ledger);
	assert_int_equal(bm_ledger_verify(dir, &count, NULL), 0);
	assert_int_equal(count, 2);

	assert_int_equal(bm_ledger_open(dir, &ledger, NULL), 0);
	append(ledger, "revoke", "three");
	seen = replayed(ledger);
	assert_int_equal(seen.count, 3);
	assert_string_equal(seen.event, "revoke");
	bm_ledger_close(ledger);
	data = read_dir(BM_LEDGER_NAME, NULL);
	assert_int_equal(strncmp(data, "{\"n\":1,\"time\":\"2", 16), 0);
	assert_non_null(strstr(data, "\"event\":\"create\",\"value\":\"one\",\"prev\":\"000000"));
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

static void ledger_finds_each_flipped_byte(void **state)
{
	static const char masks[] = { 0x01, 0x20, (char)0x80 };
	size_t starts[4];
	autofree char *data = make_ledger(3, starts);

	(void)state;
	for (size_t i = 0; i < starts[3] * sizeof(masks); i++) {
		size_t at = i / sizeof(masks);
		struct bm_ledger *ledger = NULL;
		uint64_t count;
		struct seen seen;

		data[at] ^= masks[i % sizeof(masks)];
		if (at < starts[2] || at == starts[3] - 1) {
			ledger_refused(data, starts[3]);
		} else {
			/* No different from a power cut, so it is cut off, and that is recorded. */
			write_ledger(data, starts[3]);
			REFUSED(EBADMSG, bm_ledger_verify(dir, &count, err));
			assert_int_equal(bm_ledger_open(dir, &ledger, NULL), 0);
			seen = replayed(ledger);
			assert_int_equal(seen.count, 3);
			assert_string_equal(seen.event, "torn");
			bm_ledger_close(ledger);
		}
		data[at] ^= masks[i % sizeof(masks)];
	}
}

static size_t forge(char *line, const char *n, char prev)
{
	unsigned char hash[32];
	char hex[65], zeros[65] = "";
	int len;

	memset(zeros, prev, 64);
	len = snprintf(line, 200, "{\"n\":%s,\"event\":\"x\",\"prev\":\"%s\"", n, zeros);
	crypto_generichash(hash, 32, (unsigned char *)line, (size_t)len, NULL, 0);
	sodium_bin2hex(hex, sizeof(hex), hash, 32);
	return (size_t)(len + snprintf(line + len, 80, ",\"hash\":\"%s\"}\n", hex));
}

static void ledger_finds_moved_lines(void **state)
{
	size_t s[5], len;
	autofree char *data = make_ledger(4, s);
	autofree char *other = NULL, *work = malloc(2 * s[4]);

	(void)state;
	for (int gone = 0; gone < 3; gone++) {
		memcpy(work, data, s[gone]);
		memcpy(work + s[gone], data + s[gone + 1], s[4] - s[gone + 1]);
		ledger_refused(work, s[4] - (s[gone + 1] - s[gone]));
	}
	for (int first = 0; first < 3; first++) {
		size_t a = s[first + 1] - s[first], b = s[first + 2] - s[first + 1];

		memcpy(work, data, s[4]);
		memcpy(work + s[first], data + s[first + 1], b);
		memcpy(work + s[first] + b, data + s[first], a);
		ledger_refused(work, s[4]);
	}
	for (int copied = 0; copied < 4; copied++) {
		for (int to = 0; to <= 4; to++) {
			len = s[copied + 1] - s[copied];
			memcpy(work, data, s[to]);
			memcpy(work + s[to], data + s[copied], len);
			memcpy(work + s[to] + len, data + s[to], s[4] - s[to]);
			ledger_refused(work, s[4] + len);
		}
	}
	/* A line of another ledger: its own hash holds, the chain does not. */
	other = make_ledger(4, s);
	memcpy(work, data, s[4]);
	memcpy(work + s[3], other + s[3], s[4] - s[3]);
	ledger_refused(work, s[4]);
	ledger_refused("\n\n", 2);
	/* Sealed by someone who knows how, and not the line that is due. */
	for (size_t i = 0; i < 2; i++) {
		len = forge(work, (const char *[]){ "2", "1" }[i], (const char[]){ '0', '1' }[i]);
		ledger_refused(work, len);
	}
	len = forge(work, "1", '0');
	write_ledger(work, len);
	assert_int_equal(bm_ledger_verify(dir, &(uint64_t){ 0 }, NULL), 0);
}

static void ledger_recovers_a_torn_line(const char *data, size_t len, size_t whole)
{
	struct bm_ledger *ledger = NULL;
	uint64_t count = 0;
	struct seen seen;

	write_ledger(data, len);
	REFUSED(EBADMSG, bm_ledger_verify(dir, &count, err));
	assert_int_equal(bm_ledger_open(dir, &ledger, NULL), 0);
	seen = replayed(ledger);
	assert_int_equal(seen.count, 3);
	assert_string_equal(seen.event, "torn");
	assert_int_equal(seen.bytes, len - whole);
	append(ledger, "next", "");
	bm_ledger_close(ledger);
	assert_int_equal(bm_ledger_verify(dir, &count, NULL), 0);
	assert_int_equal(count, 4);
}

static void ledger_torn_at_every_length(void **state)
{
	size_t s[4];
	autofree char *data = make_ledger(3, s);

	(void)state;
	for (size_t len = s[2] + 1; len < s[3]; len++)
		ledger_recovers_a_torn_line(data, len, s[2]);
	/* Blocks that were allocated and never written. */
	for (size_t at = s[3] - 1; at > s[2]; at--) {
		data[at] = '\0';
		ledger_recovers_a_torn_line(data, s[3], s[2]);
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
	struct bm_ledger *ledger = NULL;
	uint64_t count = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(bm_ledger_open(dir, &ledger, NULL), 0);
	for (size_t i = 0; i < sizeof(room) / sizeof(room[0]); i++) {
		autofree char *after = NULL;
		int code = room[i] ? ENOSPC : EFBIG;

		limit_file_size(s[2] + room[i]);
		REFUSED(code, bm_ledger_append(ledger, "grant", NULL, err));
		limit_file_size(0);
		after = read_dir(BM_LEDGER_NAME, &len);
		assert_int_equal(len, s[2]);
		assert_memory_equal(after, data, len);
	}
	append(ledger, "grant", "");
	bm_ledger_close(ledger);
	assert_int_equal(bm_ledger_verify(dir, &count, NULL), 0);
	assert_int_equal(count, 3);
}

static void ledger_refuses_fields(void **state)
{
	static const char *const reserved[] = { "n", "time", "event", "prev", "hash" };
	autofree char *huge = calloc(1, 70000);
	struct bm_ledger *ledger = NULL;
	uint64_t count = 0;

	(void)state;
	memset(huge, 'x', 69999);
	assert_int_equal(bm_ledger_open(dir, &ledger, NULL), 0);
	for (size_t i = 0; i < 5; i++) {
		autojson *json = fields(reserved[i], "");

		REFUSED(EINVAL, bm_ledger_append(ledger, "grant", json, err));
	}
	autojson *large = fields("value", huge);
	autojson *bytes = fields("value", "\xff\xfe");

	REFUSED(EMSGSIZE, bm_ledger_append(ledger, "grant", large, err));
	REFUSED(EBADMSG, bm_ledger_append(ledger, "grant", bytes, err));
	append(ledger, "grant", "");
	bm_ledger_close(ledger);
	assert_int_equal(bm_ledger_verify(dir, &count, NULL), 0);
	assert_int_equal(count, 1);
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
	struct bm_ledger *ledger = NULL, *second = NULL;
	uint64_t n = 0;

	(void)state;
	assert_int_equal(bm_ledger_open(dir, &ledger, NULL), 0);
	REFUSED(EBUSY, bm_ledger_open(dir, &second, err));
	REFUSED(ESTALE, bm_ledger_replay(ledger, stop_at_two, &n, err));
	assert_int_equal(n, 2);
	removed(BM_LEDGER_NAME);
	REFUSED(EIO, bm_ledger_append(ledger, "grant", NULL, err));
	bm_ledger_close(ledger);

	write_ledger(data, s[3]);
	assert_int_equal(bm_ledger_open(dir, &ledger, NULL), 0);
	write_ledger(data, s[2]);
	REFUSED(EIO, bm_ledger_append(ledger, "grant", NULL, err));
	REFUSED(EIO, bm_ledger_replay(ledger, see, &(struct seen){}, err));
	bm_ledger_close(ledger);
	removed(BM_LEDGER_NAME);

	assert_int_equal(symlinkat("elsewhere", dir, BM_LEDGER_NAME), 0);
	REFUSED(ELOOP, bm_ledger_open(dir, &ledger, err));
	removed(BM_LEDGER_NAME);
	write_ledger(data, s[3]);
	assert_int_equal(fchmodat(dir, BM_LEDGER_NAME, 0620, 0), 0);
	REFUSED(EPERM, bm_ledger_open(dir, &ledger, err));
	REFUSED(EPERM, bm_ledger_verify(dir, &n, err));
	removed(BM_LEDGER_NAME);
	REFUSED(ENOENT, bm_ledger_verify(dir, &n, err));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ledger_appends),
		TEST(ledger_hash_is_as_documented),
		TEST(ledger_finds_each_flipped_byte),
		TEST(ledger_finds_moved_lines),
		TEST(ledger_torn_at_every_length),
		TEST(ledger_full_disk_leaves_nothing),
		TEST(ledger_refuses_fields),
		TEST(ledger_guards_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
