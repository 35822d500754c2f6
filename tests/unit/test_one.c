// SPDX-License-Identifier: GPL-2.0-only
/* A profile of one host: what is meant as one, how it is called, and what is kept under that name.
 */
#include <arpa/inet.h>
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
#include "policy/one.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define NOW 1700000000
#define L50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."

static void names(void **state)
{
	static const struct {
		const char *text;
		bool name;
	} cases[] = {
		{ "a.test:443", true },
		{ "A.TEST:443", true },
		{ "a.test", true },
		{ "localhost:80", true },
		{ "0x7f.1:80", true },
		{ "fe80.test:443", true },
		{ "cafe:443", true },
		{ "a.test:443:80", true },
		{ "b\303\274.test:1", true },
		{ "1.a:80", true },
		{ "*.test:80", true },
		{ "", false },
		{ "192.0.2.1:443", false },
		{ "192.0.2.1", false },
		{ "127.1:80", false },
		{ ":443", false },
		{ "[2001:db8::1]:443", false },
		{ "2001:db8::1", false },
		{ "fe80::1%eth0", false },
		{ "fe80::1%eth0:443", false },
		{ "fe80::1/udp", false },
		{ "192.0.2.1 :80", false },
		{ "../p", false },
		{ "[a.test]:443", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		if (bm_destination_is_name(cases[i].text, strlen(cases[i].text)) != cases[i].name)
			fail_msg("\"%s\"", cases[i].text);
}

static void one_way(void **state)
{
	static const struct {
		const char *text, *name, *host;
		uint16_t port;
		uint8_t protocol;
	} cases[] = {
		{ "a.test:443", "a.test:443", "a.test", 443, IPPROTO_TCP },
		{ "A.Test:443/tcp", "a.test:443", "a.test", 443, IPPROTO_TCP },
		{ "a.test:53/udp", "a.test:53/udp", "a.test", 53, IPPROTO_UDP },
		{ "xn--bcher-kva.test:1", "xn--bcher-kva.test:1", "xn--bcher-kva.test", 1,
		  IPPROTO_TCP },
		{ L50 L50 L50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test:65535/udp",
		  L50 L50 L50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test:65535/udp",
		  L50 L50 L50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test", 65535,
		  IPPROTO_UDP },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		autoprofile p = {}, again = {};
		struct bm_error err = {};

		if (bm_one_parse(cases[i].text, strlen(cases[i].text), &p, &err) < 0)
			fail_msg("\"%s\": %s", cases[i].text, err.message);
		assert_true(p.one && !p.private_too && p.description[0]);
		assert_string_equal(p.name, cases[i].name);
		assert_int_equal(p.entry_count, 1);
		assert_int_equal(p.entries[0].kind, BM_ENTRY_HOST);
		assert_string_equal(p.entries[0].host, cases[i].host);
		assert_int_equal(p.entries[0].destination.port, cases[i].port);
		assert_int_equal(p.entries[0].destination.protocol, cases[i].protocol);
		assert_true(p.entries[0].uploads && p.max_age > p.overlap);
		assert_int_equal(bm_one_parse(p.name, strlen(p.name), &again, NULL), 0);
		assert_memory_equal(p.digest, again.digest, sizeof(p.digest));
		assert_true(bm_one_is(p.name));
		assert_int_equal(bm_seal_name_check(p.name, NULL), 0);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *text;
		size_t len; /* 0: up to the NUL */
		const char *because, *remedy;
	} cases[] = {
		{ "a.test", 0, "the port is missing", "a.test:443" },
		{ "a.test:", 0, "the port is missing", "" },
		{ "a.test:0", 0, "port 0 is not in 1 to 65535", "" },
		{ "a.test:65536", 0, "port 65536 is not in", "" },
		{ "a.test:99999999999999999999999999999999999999999999999999999999999999999999", 0,
		  "is not in 1 to 65535", "" },
		{ "a.test:0443", 0, "has leading zeros", "" },
		{ "a.test:443:80", 0, "\"443:80\" is no port number", "" },
		{ "a.test:443 ", 0, "byte 0x20 at 11", "" },
		{ "a.test:443\n", 0, "byte 0x0a at 11", "" },
		{ "a.test:443/sctp", 0, "\"/sctp\" is no protocol", "" },
		{ "a.test:443/tcp/x", 0, "\"/tcp/x\" is no protocol", "" },
		{ "a.test/udp", 0, "the port is missing", "" },
		{ "https://a.test", 0, "\"://\" at byte 6", "no scheme" },
		{ "a\0b.test:443", 12, "byte 0x00 at 2 does not belong in a host name", "" },
		{ "a.test:443\0", 11, "byte 0x00 at 11 does not belong in a destination", "" },
		{ "a.test:4\0"
		  "43",
		  11, "byte 0x00 at 9", "" },
		{ "a\x1b.test:443", 0, "byte 0x1b at 2", "" },
		{ "a.test.:443", 0, "a dot at the end", "remove it" },
		{ "b\303\274cher.test:443", 0, "is not ASCII", "xn--" },
		{ "a:443", 0, "one label alone", "full name" },
		{ "0x7f.1:443", 0, "begins with no letter", "an address as an address" },
		{ "a%eth0.test:443", 0, "a percent sign", "without a scope" },
		{ "192.0.2.1:443", 0, "an address is not resolved", "grant it as it is" },
		{ "[fe80::1%eth0]:443", 0, "an address is not resolved", "" },
		{ "", 0, "an address is not resolved", "" },
		{ L50 L50 L50 L50 "a.test:443", 0, "the host name has 206 bytes, more than the 200",
		  "define a profile" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t len = cases[i].len ?: strlen(cases[i].text);
		autoprofile p = { .max_age = 7 };
		struct bm_error err = {};

		if (bm_one_parse(cases[i].text, len, &p, &err) != -EINVAL ||
		    !strstr(err.message, cases[i].because) || !strstr(err.remedy, cases[i].remedy))
			fail_msg("\"%s\": \"%s\"; \"%s\"", cases[i].text, err.message, err.remedy);
		assert_true(err.remedy[0] && err.rule[0]);
		assert_int_equal(p.max_age, 7);
	}
}

static void seal_names(void **state)
{
	static const char *const files[][2] = {
		{ "p.json", "p" },
		{ "a.test:443.json", "a.test:443" },
		{ "a.test:53,udp.json", "a.test:53/udp" },
		{ "profile.schema.json", NULL },
		{ "a.test:443.json.new", NULL },
		{ "A.test:443.json", NULL },
		{ "a.test:443,tcp.json", NULL },
		{ "p,q.json", NULL },
		{ "a,b.test:443.json", NULL },
		{ "192.0.2.1:443.json", NULL },
		{ ".json", NULL },
		{ "p", NULL },
	};
	struct bm_error err = {};

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		char name[BM_PROFILE_NAME_LEN] = "untouched";
		int r = bm_seal_file_name(files[i][0], name);

		if (r != (files[i][1] ? 0 : -EINVAL) || strcmp(name, files[i][1] ?: "untouched"))
			fail_msg("%s: %d, %s", files[i][0], r, name);
	}
	assert_int_equal(bm_seal_name_check("A.test:443", &err), -EINVAL);
	assert_non_null(strstr(err.message, "is a.test:443"));
	assert_int_equal(bm_seal_name_check("../p", NULL), -EINVAL);
	assert_int_equal(bm_seal_name_check("apt", NULL), 0);
}

static void add(struct bm_sealed_host *host, const char *text)
{
	struct bm_sealed_address *address = bm_sealed_add_address(host);

	assert_non_null(address);
	assert_int_equal(bm_destination_parse(text, &address->destination, NULL), 0);
	address->seen = NOW;
}

static void make(const char *name, struct bm_sealed *ret, struct bm_profile *ret_profile)
{
	struct bm_sealed_host *host;

	assert_int_equal(bm_one_parse(name, strlen(name), ret_profile, NULL), 0);
	*ret = (struct bm_sealed){ .sealed = NOW, .expires = NOW + 60 };
	memcpy(ret->name, ret_profile->name, sizeof(ret->name));
	memcpy(ret->definition, ret_profile->digest, sizeof(ret->definition));
	host = bm_sealed_add_host(ret);
	assert_non_null(host);
	snprintf(host->host, sizeof(host->host), "%s", ret_profile->entries[0].host);
	snprintf(host->from, sizeof(host->from), "profile");
	host->port = ret_profile->entries[0].destination.port;
	host->protocol = ret_profile->entries[0].destination.protocol;
	add(host, "192.0.2.1:53/udp");
	add(host, "10.1.2.3:53/udp");
	add(host, "[fd12::1]:53/udp");
}

static void means(const struct bm_profile *p, const char *address, bool wanted)
{
	struct bm_destination d;

	assert_int_equal(bm_destination_parse(address, &d, NULL), 0);
	assert_int_equal(bm_profile_means(p, d.address), wanted);
}

/* What was meant is what was seen, not whatever the name leads to next. */
static void private(void **state)
{
	autoprofile p = {};
	autosealed s = {};

	(void)state;
	make("a.test:53/udp", &s, &p);
	means(&p, "10.1.2.3:1", false);
	assert_int_equal(bm_one_keep_private(&p, &s, NULL), 0);
	assert_int_equal(p.private_count, 2);
	means(&p, "10.1.2.3:1", true);
	means(&p, "[fd12::1]:1", true);
	means(&p, "10.1.2.4:1", false);
	means(&p, "192.0.2.1:1", false);
	p.private_too = true;
	means(&p, "10.1.2.4:1", true);
}

static void kept(void **state)
{
	char dir[] = "/tmp/benchmon-one-XXXXXX", file[96];
	const char *argv[] = { "rm", "-rf", dir, NULL };
	autoprofile p = {};
	autosealed s = {}, back = {};
	autokey key = {};
	struct bm_error err = {};
	int status = -1;
	autoclose fd = -1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make("a.test:53/udp", &s, &p);
	assert_int_equal(bm_seal_remove(fd, s.name, &err), -ENOENT);
	assert_non_null(strstr(err.message, "profile a.test:53/udp is not sealed"));
	assert_int_equal(bm_seal_key_open(fd, getuid(), true, &key, NULL), 0);
	assert_int_equal(bm_seal_write(fd, &key, &s, NULL), 0);
	snprintf(file, sizeof(file), "%s/profiles/a.test:53,udp.json", dir);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(bm_seal_read(fd, getuid(), &key, s.name, NOW, &back, NULL), 0);
	assert_string_equal(back.name, s.name);
	assert_int_equal(bm_seal_fits(&back, &p, NULL), 0);
	/* Another port is another profile. */
	assert_int_equal(bm_seal_read(fd, getuid(), &key, "a.test:54/udp", NOW, &back, NULL),
			 -ENOENT);
	err = (struct bm_error){};
	assert_int_equal(bm_seal_remove(fd, "../seal.key", &err), -EINVAL);
	assert_int_equal(bm_seal_remove(fd, s.name, NULL), 0);
	assert_int_equal(access(file, F_OK), -1);
	assert_int_equal(bm_run(argv, 10000, &status, NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),      cmocka_unit_test(one_way), cmocka_unit_test(refused),
		cmocka_unit_test(seal_names), cmocka_unit_test(private), cmocka_unit_test(kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
