// SPDX-License-Identifier: GPL-2.0-only
/* The definition of a profile; the schema and the parser say the same of each document. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "policy/profile.h"
#define SCHEMA_PATH "profiles/profile.schema.json"
#include "tests/unit/schema.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

#define HEAD "{\"name\":\"p\",\"description\":\"d\","
#define WITH(entries) HEAD "\"entries\":[" entries "]}"
#define WHY ",\"protocol\":\"tcp\",\"port\":443,\"why\":\"w\"}"
#define HOST(name) "{\"host\":\"" name "\"" WHY
#define ADDRESS(text) "{\"address\":\"" text "\"" WHY
#define PORT(text) "{\"host\":\"a.test\",\"protocol\":\"tcp\",\"port\":" text ",\"why\":\"w\"}"
#define ONE HOST("a.test")
#define KEY(text) HEAD text ",\"entries\":[" ONE "]}"
#define T50 "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
#define U50 "\303\274\303\274\303\274\303\274\303\274\303\274\303\274\303\274\303\274\303\274"

static void good(void **state)
{
	static const char *const documents[] = {
		WITH(ONE),
		WITH(HOST("A.Test")),
		WITH(HOST("a.test") "," HOST("b.test")),
		WITH(HOST("a.test") "," PORT("80")),
		WITH(PORT("1") "," PORT("65535")),
		WITH(ADDRESS("192.0.2.1")),
		WITH(ADDRESS("2001:db8::1")),
		WITH("{\"host\":\"a.test\",\"protocol\":\"udp\",\"port\":443,\"why\":\"w\","
		     "\"uploads\":true}"),
		WITH("{\"discover\":\"apt\",\"why\":\"w\"}"),
		WITH("{\"discover\":\"npm\",\"why\":\"w\",\"uploads\":false},"
		     "{\"discover\":\"pip\",\"why\":\"w\"}"),
		KEY("\"max_age\":\"7d\",\"overlap\":\"12h\""),
		KEY("\"max_age\":\"90d\",\"overlap\":\"1m\""),
		KEY("\"private\":[]"),
		KEY("\"private\":[\"10.1.2.3\",\"fd12::1\"]"),
		HEAD "\"private\":[\"10.1.2.3\"],\"entries\":[" ADDRESS("10.1.2.3") "]}",
		"{\"name\":\"p-2\",\"description\":\"" U50 U50 U50 U50 U50 "\",\"entries\":[" ONE
		"]}",
		"{\"name\":\"p\",\"description\":\"" T50 T50 T50 T50 "\",\"entries\":[" ONE "]}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(documents); i++) {
		autoprofile profile = {};
		struct bm_error err = {};
		int r = bm_profile_parse(documents[i], strlen(documents[i]), "test", NULL, &profile,
					 &err);

		if (r < 0)
			fail_msg("%s: %s", documents[i], err.message);
		if (!schema_takes(documents[i]))
			fail_msg("%s: not after the schema", documents[i]);
	}
}

/* BEYOND: a schema can't say it. */
enum said { BY_BOTH, BEYOND };

static void bad(void **state)
{
	static const struct {
		const char *text, *because;
		enum said said;
	} cases[] = {
		{ "", "test: JSON ends too early", BY_BOTH },
		{ "[]", "test: not a JSON object", BY_BOTH },
		{ "{}", "test: name: missing", BY_BOTH },
		{ "{\"name\":1}", "test: name: not a string", BY_BOTH },
		{ "{\"name\":\"P\"}", "\"P\" is no name of a profile", BY_BOTH },
		{ "{\"name\":\"../p\"}", "is no name of a profile", BY_BOTH },
		{ "{\"name\":\"p\"}", "test: description: missing", BY_BOTH },
		{ "{\"name\":\"p\",\"description\":\"\"}", "0 characters, not 1 to 200", BY_BOTH },
		{ "{\"name\":\"p\",\"description\":\"" T50 T50 T50 T50 "w\"}",
		  "201 characters, not 1 to 200", BY_BOTH },
		{ HEAD "\"entries\":[" ONE "],\"x\":1}", "test: unknown key \"x\"", BY_BOTH },
		{ KEY("\"name\":\"q\""), "a key is given twice", BY_BOTH },
		{ "{\"name\":\"p\",\"description\":\"a\\u001bb\",\"entries\":[" ONE "]}",
		  "description: control byte 0x1b at 2", BY_BOTH },
		{ "{\"name\":\"p\",\"description\":\"a\\u007f\",\"entries\":[" ONE "]}",
		  "description: control byte 0x7f at 2", BY_BOTH },
		{ "{\"name\":\"p\",\"description\":\"a\\u0000\",\"entries\":[" ONE "]}",
		  "not strict JSON", BY_BOTH },
		{ HEAD "\"entries\":{}}", "entries: not an array", BY_BOTH },
		{ HEAD "\"entries\":[]}", "entries: 0 of them, not 1 to 256", BY_BOTH },
		{ WITH("1"), "test: entry 1: not an object", BY_BOTH },
		{ WITH(ONE ",null"), "test: entry 2: not an object", BY_BOTH },
		{ WITH("{}"), "entry 1: none of host, address and discover", BY_BOTH },
		{ WITH("{\"host\":\"a.test\",\"address\":\"192.0.2.1\"" WHY),
		  "entry 1: more than one of host, address and discover", BY_BOTH },
		{ WITH("{\"discover\":\"apt\",\"port\":1,\"why\":\"w\"}"),
		  "entry 1: it: unknown key \"port\"", BY_BOTH },
		{ WITH("{\"discover\":\"gem\",\"why\":\"w\"}"),
		  "entry 1: discover: nothing that can be discovered", BY_BOTH },
		{ WITH("{\"discover\":\"apt\"}"), "entry 1: why: missing", BY_BOTH },
		{ WITH("{\"host\":\"a.test\",\"protocol\":\"tcp\",\"port\":443}"),
		  "entry 1: why: missing", BY_BOTH },
		{ WITH("{\"host\":\"a.test\",\"port\":443,\"why\":\"w\"}"),
		  "entry 1: protocol: missing", BY_BOTH },
		{ WITH("{\"host\":\"a.test\",\"protocol\":\"sctp\",\"port\":443,\"why\":\"w\"}"),
		  "entry 1: protocol: neither tcp nor udp", BY_BOTH },
		{ WITH("{\"host\":\"a.test\",\"protocol\":\"tcp\",\"why\":\"w\"}"),
		  "entry 1: port: missing", BY_BOTH },
		{ WITH("{\"host\":\"a.test\",\"uploads\":1" WHY),
		  "entry 1: uploads: not true or false", BY_BOTH },
		{ WITH(PORT("0")), "entry 1: port: 0 is not in 1 to 65535", BY_BOTH },
		{ WITH(PORT("65536")), "entry 1: port: 65536 is not in 1 to 65535", BY_BOTH },
		{ WITH(PORT("-1")), "entry 1: port: -1 is not in 1 to 65535", BY_BOTH },
		{ WITH(PORT("99999999999999999999")), "is not in 1 to 65535", BY_BOTH },
		{ WITH(PORT("443.5")), "entry 1: port: not an integer", BY_BOTH },
		{ WITH(PORT("\"443\"")), "entry 1: port: not an integer", BY_BOTH },
		{ WITH(PORT("1") "," PORT("2") "," HOST("a_b.test")),
		  "test: entry 3: host: an underscore (byte 0x5f) at 2", BY_BOTH },
		{ WITH(HOST("a.test.")), "entry 1: host: a dot at the end", BY_BOTH },
		{ WITH(HOST("a\303\274.test")), "entry 1: host: byte 0xc3 at 2", BY_BOTH },
		{ WITH(HOST("a\\nb.test")), "entry 1: host: white space (byte 0x0a) at 2",
		  BY_BOTH },
		{ WITH(HOST("192.0.2.1")), "begins with no letter", BY_BOTH },
		{ WITH(HOST("localhost")), "one label", BY_BOTH },
		{ WITH("{\"host\":1" WHY), "entry 1: host: not a string", BY_BOTH },
		{ WITH(ADDRESS("fe80::1%eth0")), "entry 1: address: a scope at byte 8", BY_BOTH },
		{ WITH(ADDRESS("a.test")), "entry 1: address: byte 0x74 at 3", BY_BOTH },
		{ WITH(ADDRESS("[2001:db8::1]")), "entry 1: address: byte 0x5b at 1", BY_BOTH },
		{ WITH(ADDRESS("")), "entry 1: address: the address is missing", BY_BOTH },
		{ WITH(ADDRESS("192.0.2")), "is no IPv4 address", BEYOND },
		{ WITH(ADDRESS("192.0.2.1:80")), "is no IPv6 address", BEYOND },
		{ WITH(ADDRESS("127.0.0.1")), "is a loopback address", BEYOND },
		{ WITH(ADDRESS("169.254.169.254")), "metadata", BEYOND },
		{ WITH(ADDRESS("fe80::1")), "is a link-local address", BEYOND },
		{ WITH(ADDRESS("224.0.0.1")), "is a multicast address", BEYOND },
		{ WITH(ADDRESS("10.1.2.3")), "is a private address", BEYOND },
		{ WITH(ONE "," ONE), "test: entry 2: the same as entry 1", BEYOND },
		{ WITH(ONE "," HOST("A.TEST")), "entry 2: the same as entry 1", BEYOND },
		{ WITH("{\"discover\":\"apt\",\"why\":\"w\"},{\"discover\":\"apt\",\"why\":\"x\"}"),
		  "entry 2: the same as entry 1", BEYOND },
		{ KEY("\"private\":\"10.1.2.3\""), "private: not an array", BY_BOTH },
		{ KEY("\"private\":[1]"), "private: not a string", BY_BOTH },
		{ KEY("\"private\":[\"10.0.0.0/8\"]"), "private: byte 0x2f at 9", BY_BOTH },
		{ KEY("\"private\":[\"192.0.2.1\"]"), "private: 192.0.2.1 is no private", BEYOND },
		{ KEY("\"private\":[\"127.0.0.1\"]"), "is a loopback address", BEYOND },
		{ KEY("\"private\":[\"100.100.100.200\"]"), "metadata", BEYOND },
		{ KEY("\"max_age\":7"), "max_age: not a string", BY_BOTH },
		{ KEY("\"max_age\":\"0d\""), "max_age: no span of time", BY_BOTH },
		{ KEY("\"max_age\":\"7\""), "max_age: no span of time", BY_BOTH },
		{ KEY("\"max_age\":\"7 d\""), "max_age: no span of time", BY_BOTH },
		{ KEY("\"max_age\":\"-7d\""), "max_age: no span of time", BY_BOTH },
		{ KEY("\"max_age\":\"07d\""), "max_age: no span of time", BY_BOTH },
		{ KEY("\"max_age\":\"7dd\""), "max_age: no span of time", BY_BOTH },
		{ KEY("\"max_age\":\"99999d\""), "max_age: no span of time", BY_BOTH },
		{ KEY("\"max_age\":\"91d\""), "max_age: longer than 90 days", BEYOND },
		{ KEY("\"overlap\":\"9999h\""), "overlap: longer than 90 days", BEYOND },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bm_profile profile = { .max_age = 7 };
		struct bm_error err = {};
		int r = bm_profile_parse(cases[i].text, strlen(cases[i].text), "test", NULL,
					 &profile, &err);

		if (r >= 0 || r != -err.code || !strstr(err.message, cases[i].because))
			fail_msg("%s: %d, \"%s\"", cases[i].text, r, err.message);
		assert_int_equal(profile.max_age, 7);
		if (schema_takes(cases[i].text) != (cases[i].said == BEYOND))
			fail_msg("%s: the schema says otherwise", cases[i].text);
	}
}

static void kept(void **state)
{
	static const char text[] =
		"{\"name\":\"p\",\"description\":\"d\",\"max_age\":\"2d\",\"overlap\":\"30m\","
		"\"private\":[\"10.1.2.3\"],\"entries\":["
		"{\"host\":\"A.test\",\"protocol\":\"udp\",\"port\":53,\"why\":\"x\"},"
		"{\"address\":\"10.1.2.3\",\"protocol\":\"tcp\",\"port\":80,\"why\":\"y\","
		"\"uploads\":true},"
		"{\"discover\":\"pip\",\"why\":\"z\"}]}";
	uint8_t other[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 4 };
	char shown[BM_DESTINATION_LEN];
	autoprofile p = {};

	(void)state;
	assert_int_equal(bm_profile_parse(text, strlen(text), "test", "p", &p, NULL), 0);
	assert_int_equal(p.max_age, 2 * 86400);
	assert_int_equal(p.overlap, 1800);
	assert_int_equal(p.entry_count, 3);
	assert_int_equal(p.entries[0].kind, BM_ENTRY_HOST);
	assert_string_equal(p.entries[0].host, "a.test");
	assert_int_equal(p.entries[0].destination.protocol, IPPROTO_UDP);
	assert_int_equal(p.entries[0].destination.port, 53);
	assert_false(p.entries[0].uploads);
	assert_int_equal(p.entries[1].kind, BM_ENTRY_ADDRESS);
	assert_string_equal(bm_destination_format(&p.entries[1].destination, shown),
			    "10.1.2.3:80/tcp");
	assert_true(p.entries[1].uploads);
	assert_true(bm_profile_means(&p, p.entries[1].destination.address));
	assert_false(bm_profile_means(&p, other));
	assert_int_equal(p.entries[2].discover, BM_DISCOVER_PIP);
	assert_string_equal(p.entries[2].why, "z");
}

static void name_of_file(void **state)
{
	struct bm_profile p = {};
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_profile_parse(WITH(ONE), strlen(WITH(ONE)), "q.json", "q", &p, &err),
			 -EINVAL);
	assert_string_equal(err.message, "q.json: name: \"p\" in a file called q");
}

static void deep_and_many(void **state)
{
	size_t size = BM_PROFILE_MAX;
	autofree char *text = malloc(size + 2);
	struct bm_profile p = {};
	struct bm_error err = {};
	size_t len;

	(void)state;
	assert_non_null(text);
	memset(text, '[', size);
	memcpy(text, "{\"entries\":", 11);
	assert_int_equal(bm_profile_parse(text, size, "test", NULL, &p, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "nesting"));
	err = (struct bm_error){};
	assert_int_equal(bm_profile_parse(text, size + 1, "test", NULL, &p, &err), -EFBIG);
	assert_non_null(strstr(err.message, "larger than 262144 bytes"));

	len = (size_t)snprintf(text, size, HEAD "\"entries\":[");
	for (int i = 0; i < BM_PROFILE_ENTRIES + 1; i++)
		len += (size_t)snprintf(text + len, size - len, "%s" HOST("h%d.test"), i ? "," : "",
					i);
	snprintf(text + len, size - len, "]}");
	err = (struct bm_error){};
	assert_int_equal(bm_profile_parse(text, strlen(text), "test", NULL, &p, &err), -EINVAL);
	assert_non_null(strstr(err.message, "257 of them, not 1 to 256"));
}

/* --- files ----------------------------------------------------------------------------------- */

static int write_profile(const char *dir, const char *name, mode_t mode)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.json", dir, name);
	if (bm_write_file(AT_FDCWD, path, O_CREAT | O_TRUNC, 0600, WITH(ONE)) < 0)
		return -1;
	return chmod(path, mode);
}

static void loaded(void **state)
{
	char dir[] = "/tmp/benchmon-profile-XXXXXX", path[256], other[256];
	struct bm_error err = {};
	struct bm_profile p = {};
	autoclose fd = -1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "%s/p.json", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(bm_profile_load(fd, "p", getuid(), &p, NULL), -ENOENT);
	assert_int_equal(bm_profile_load(fd, "../p", getuid(), &p, NULL), -EINVAL);
	assert_int_equal(write_profile(dir, "p", 0644), 0);
	assert_int_equal(bm_profile_load(fd, "p", getuid(), &p, &err), 0);
	bm_profile_done(&p);

	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(bm_profile_load(fd, "p", getuid(), &p, &err), -EPERM);
	assert_string_equal(err.message, "p.json can be written by others than its owner");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	err = (struct bm_error){};
	assert_int_equal(bm_profile_load(fd, "p", getuid(), &p, &err), -EPERM);
	assert_string_equal(err.message,
			    "the directory of profiles can be written by others than its owner");
	assert_int_equal(chmod(dir, 0700), 0);

	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink("other", path), 0);
	err = (struct bm_error){};
	assert_int_equal(bm_profile_load(fd, "p", getuid(), &p, &err), -EPERM);
	assert_string_equal(err.message, "p.json is a symbolic link");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	err = (struct bm_error){};
	assert_int_equal(bm_profile_load(fd, "p", getuid(), &p, &err), -EPERM);
	assert_string_equal(err.message, "p.json is no regular file");
	assert_int_equal(unlink(path), 0);

	/* 100 MB that nobody reads. */
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(truncate(path, 100 << 20), 0);
	err = (struct bm_error){};
	assert_int_equal(bm_profile_load(fd, "p", getuid(), &p, &err), -EFBIG);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void of_others(void **state)
{
	char dir[] = "/tmp/benchmon-profile-XXXXXX", path[256];
	struct bm_error err = {};
	struct bm_profile p = {};
	autoclose fd = -1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p.json", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(write_profile(dir, "p", 0644), 0);
	if (getuid() == 0)
		assert_int_equal(fchown(fd, 65533, 0), 0);
	assert_int_equal(bm_profile_load(fd, "p", getuid() + 1, &p, &err), -EPERM);
	assert_non_null(strstr(err.message, "the directory of profiles belongs to uid"));
	if (getuid() == 0) {
		assert_int_equal(fchown(fd, 0, 0), 0);
		assert_int_equal(chown(path, 65533, 0), 0);
		err = (struct bm_error){};
		assert_int_equal(bm_profile_load(fd, "p", 0, &p, &err), -EPERM);
		assert_string_equal(err.message, "p.json belongs to uid 65533, not to root");
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void installed(void **state)
{
	static const char *const names[] = { "apt", "cargo", "git", "go", "model", "npm", "pip" };

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		autofree char *text = NULL;
		autoprofile profile = {};
		struct bm_error err = {};
		char path[64];
		size_t len;

		snprintf(path, sizeof(path), "profiles/%s.json", names[i]);
		assert_int_equal(bm_read_file(AT_FDCWD, path, BM_PROFILE_MAX, &text, &len), 0);
		if (bm_profile_parse(text, len, path, names[i], &profile, &err) < 0)
			fail_msg("%s", err.message);
		if (!schema_takes(text))
			fail_msg("%s: not after the schema", path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),          cmocka_unit_test(bad),
		cmocka_unit_test(kept),          cmocka_unit_test(name_of_file),
		cmocka_unit_test(deep_and_many), cmocka_unit_test(loaded),
		cmocka_unit_test(of_others),     cmocka_unit_test(installed),
	};

	return cmocka_run_group_tests(tests, load_schema, drop_schema);
}
