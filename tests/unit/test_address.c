// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "network/address.h"

static const struct {
	const char *text;
	const char *format;
} accepted[] = {
	{ "198.51.100.10:80", "198.51.100.10:80/tcp" },
	{ "198.51.100.10:1/tcp", "198.51.100.10:1/tcp" },
	{ "198.51.100.10:65535/udp", "198.51.100.10:65535/udp" },
	{ "0.0.0.0:9", "0.0.0.0:9/tcp" }, /* parsing is not checking */
	{ "[2001:db8::1]:443", "[2001:db8::1]:443/tcp" },
	{ "[2001:DB8:0:0::0001]:443/udp", "[2001:db8::1]:443/udp" },
	{ "[::]:1", "[::]:1/tcp" },
	{ "[::ffff:198.51.100.10]:80", "198.51.100.10:80/tcp" },
	{ "[::ffff:c633:640a]:80/udp", "198.51.100.10:80/udp" },
	{ "[64:ff9b::198.51.100.10]:80", "[64:ff9b::c633:640a]:80/tcp" },
	{ "[2001:0db8:1111:2222:3333:4444:255.255.255.255]:65535/tcp",
	  "[2001:db8:1111:2222:3333:4444:ffff:ffff]:65535/tcp" },
};

static const struct {
	const char *text;
	const char *message; /* a part of it */
	const char *remedy;  /* a part of it, or NULL */
} rejected[] = {
	{ "", "is empty", NULL },
	{ ":", "address is missing", NULL },
	{ ":80", "address is missing", NULL },
	{ "198.51.100.10", "port is missing", NULL },
	{ "198.51.100.10:", "port is missing", NULL },
	{ "198.51.100.10/tcp", "port is missing", NULL },
	{ "198.51.100.10:0", "port 0 is not in", NULL },
	{ "198.51.100.10:65536", "port 65536 is not in", NULL },
	{ "198.51.100.10:99999", "port 99999 is not in", NULL },
	{ "198.51.100.10:4294967376", "port 4294967376 is not in", NULL },
	{ "198.51.100.10:18446744073709551696", "is not in", NULL },
	{ "198.51.100.10:080", "leading zeros", "remove the zeros" },
	{ "198.51.100.10:00", "leading zeros", NULL },
	{ "198.51.100.10:+80", "no port number", NULL },
	{ "198.51.100.10:-80", "no port number", NULL },
	{ "198.51.100.10:http", "no port number", "as a number" },
	{ "198.51.100.10:80x", "no port number", NULL },
	{ "198.51.100.10:0x50", "no port number", NULL },
	{ "198.51.100.10:80/", "no protocol", "/tcp" },
	{ "198.51.100.10:80/sctp", "no protocol", NULL },
	{ "198.51.100.10:80/TCP", "no protocol", NULL },
	{ "198.51.100.10:80/tcp/udp", "no protocol", NULL },
	{ "198.51.100.10:80/tcp ", "white space at byte 21", NULL },
	{ " 198.51.100.10:80", "white space at byte 1", NULL },
	{ "198.51.100.10: 80", "white space", NULL },
	{ "198.51.100.10:80\n", "white space at byte 17", NULL },
	{ "198.51.100.10:80\x1b[2J", "byte 0x1b at 17", NULL },
	{ "198.51.100.10:80\xc2\xa0", "byte 0xc2", NULL },
	{ "198.51.100.010:80", "no IPv4 address", "leading zeros" },
	{ "198.51.100.256:80", "no IPv4 address", NULL },
	{ "198.51.100:80", "no IPv4 address", NULL },
	{ "127.1:80", "no IPv4 address", NULL },
	{ "2130706433:80", "no IPv4 address", NULL },
	{ "198.51.100.10.:80", "no IPv4 address", NULL },
	{ "0x7f.0.0.1:80", "is a name", NULL },
	{ "example.org:443", "\"example.org\" is a name", "give the address" },
	{ "localhost:443", "is a name", "give the address" },
	{ "example.org", "is a name", NULL },
	{ "2001:db8::1:443", "without brackets", "[ADDRESS]:PORT" },
	{ "fe80::1", "without brackets", NULL },
	{ "[2001:db8::1", "without \"]\"", NULL },
	{ "[2001:db8::1]", "port is missing", NULL },
	{ "[2001:db8::1]443", "does not belong", NULL },
	{ "[2001:db8::1]]:443", "does not belong", NULL },
	{ "[2001:db8::1%eth0]:443", "scope", "without a scope" },
	{ "[fe80::1%1]:443", "scope", NULL },
	{ "[]:443", "no IPv6 address", NULL },
	{ "[198.51.100.10]:443", "no IPv6 address", NULL },
	{ "[2001:db8::1::2]:443", "no IPv6 address", NULL },
	{ "[2001:db8::12345]:443", "no IPv6 address", NULL },
	{ "[[2001:db8::1]:443", "no IPv6 address", NULL },
	{ "a-name-that-is-longer-than-any-address-could-ever-be.example.org:443", "longer than",
	  "give the address" },
	{ "198.51.100.10:800000000000000000000000000000000000000000000000000", "longer than",
	  NULL },
};

enum verdict { YES, PRIVATE, NO };

/* Every range with both of its ends, and its neighbours just outside. */
static const struct {
	const char *host;
	enum verdict verdict;
	const char *message; /* a part of it */
} checked[] = {
	{ "0.0.0.0", NO, "unspecified" },
	{ "0.255.255.255", NO, "unspecified" },
	{ "1.0.0.0", YES, NULL },
	{ "9.255.255.255", YES, NULL },
	{ "10.0.0.0", PRIVATE, "10.0.0.0/8" },
	{ "10.255.255.255", PRIVATE, "private" },
	{ "11.0.0.0", YES, NULL },
	{ "100.63.255.255", YES, NULL },
	{ "100.64.0.0", PRIVATE, "100.64.0.0/10" },
	{ "100.100.100.199", PRIVATE, "shared" },
	{ "100.100.100.200", NO, "metadata" },
	{ "100.127.255.255", PRIVATE, "shared" },
	{ "100.128.0.0", YES, NULL },
	{ "126.255.255.255", YES, NULL },
	{ "127.0.0.0", NO, "loopback" },
	{ "127.255.255.255", NO, "loopback" },
	{ "128.0.0.0", YES, NULL },
	{ "168.63.129.15", YES, NULL },
	{ "168.63.129.16", NO, "metadata" },
	{ "168.63.129.17", YES, NULL },
	{ "169.253.255.255", YES, NULL },
	{ "169.254.0.0", NO, "link-local" },
	{ "169.254.169.253", NO, "link-local" },
	{ "169.254.169.254", NO, "metadata" },
	{ "169.254.170.2", NO, "metadata" },
	{ "169.254.255.255", NO, "link-local" },
	{ "169.255.0.0", YES, NULL },
	{ "172.15.255.255", YES, NULL },
	{ "172.16.0.0", PRIVATE, "172.16.0.0/12" },
	{ "172.31.255.255", PRIVATE, "private" },
	{ "172.32.0.0", YES, NULL },
	{ "192.0.0.191", YES, NULL },
	{ "192.0.0.192", NO, "metadata" },
	{ "192.0.0.193", YES, NULL },
	{ "192.167.255.255", YES, NULL },
	{ "192.168.0.0", PRIVATE, "192.168.0.0/16" },
	{ "192.168.255.255", PRIVATE, "private" },
	{ "192.169.0.0", YES, NULL },
	{ "223.255.255.255", YES, NULL },
	{ "224.0.0.0", NO, "multicast" },
	{ "239.255.255.255", NO, "multicast" },
	{ "240.0.0.0", NO, "reserved" },
	{ "255.255.255.254", NO, "reserved" },
	{ "255.255.255.255", NO, "broadcast" },

	{ "::", NO, "unspecified" },
	{ "::1", NO, "loopback" },
	{ "::2", NO, "IPv4-compatible" },
	{ "::198.51.100.10", NO, "IPv4-compatible" },
	{ "::1:0:0", YES, NULL },
	{ "::fffe:198.51.100.10", YES, NULL },
	{ "::ffff:198.51.100.10", YES, NULL },
	{ "::ffff:127.0.0.1", NO, "127.0.0.1:443/tcp is a loopback" },
	{ "::ffff:169.254.169.254", NO, "metadata" },
	{ "::ffff:10.0.0.1", PRIVATE, "private" },
	{ "::ffff:0:198.51.100.10", YES, NULL },
	{ "::ffff:0:127.0.0.1", NO, "translated address that leads to 127.0.0.1" },
	{ "::ffff:0:10.0.0.1", PRIVATE, "leads to 10.0.0.1" },
	{ "::fffe:0:127.0.0.1", YES, NULL },
	{ "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", YES, NULL },
	{ "64:ff9b::198.51.100.10", YES, NULL },
	{ "64:ff9b::0.0.0.0", NO, "NAT64" },
	{ "64:ff9b::127.0.0.1", NO, "NAT64 address that leads to 127.0.0.1, a loopback" },
	{ "64:ff9b::169.254.169.254", NO, "metadata" },
	{ "64:ff9b::192.168.1.1", PRIVATE, "leads to 192.168.1.1" },
	{ "64:ff9b::255.255.255.255", NO, "broadcast" },
	{ "64:ff9b::1:7f00:1", YES, NULL },
	{ "64:ff9b:0:ffff:ffff:ffff:ffff:ffff", YES, NULL },
	{ "64:ff9b:1::", NO, "local NAT64" },
	{ "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", NO, "local NAT64" },
	{ "64:ff9b:2::", YES, NULL },
	{ "2000::1", YES, NULL },
	{ "2001::1:0:0", NO, "leads to 255.255.255.255" }, /* Teredo, client inverted 0.0.0.0 */
	{ "2001:0:7f00:1:0:0:39cc:9bf5", NO, "Teredo address that leads to 127.0.0.1" },
	{ "2001:0:c633:640a:0:0:80ff:fffe", NO, "Teredo address that leads to 127.0.0.1" },
	{ "2001:0:c633:640a:0:0:f5ff:fffe", PRIVATE, "leads to 10.0.0.1" },
	{ "2001:0:c633:640a:0:0:39cc:9bf5", YES, NULL },
	{ "2001:1::1", YES, NULL },
	{ "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", YES, NULL },
	{ "2002:c633:640a::1", YES, NULL },
	{ "2002:7f00:1::1", NO, "6to4 address that leads to 127.0.0.1" },
	{ "2002:a9fe:a9fe::1", NO, "metadata" },
	{ "2002:a00:1::1", PRIVATE, "leads to 10.0.0.1" },
	{ "2002:ac10:1::1", PRIVATE, "leads to 172.16.0.1" },
	{ "2003:7f00:1::1", YES, NULL },
	{ "2001:db8::5efe:127.0.0.1", NO, "ISATAP address that leads to 127.0.0.1" },
	{ "2001:db8::200:5efe:10.0.0.1", PRIVATE, "ISATAP" },
	{ "2001:db8::5efe:198.51.100.10", YES, NULL },
	{ "2001:db8::5eff:127.0.0.1", YES, NULL },
	{ "2001:db8::100:5efe:127.0.0.1", YES, NULL },
	{ "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", YES, NULL },
	{ "fc00::", PRIVATE, "fc00::/7" },
	{ "fd00:42::41", PRIVATE, "unique local" },
	{ "fd00:42::42", NO, "metadata" },
	{ "fd00:ec1:ffff:ffff:ffff:ffff:ffff:ffff", PRIVATE, "unique local" },
	{ "fd00:ec2::23", NO, "metadata" },
	{ "fd00:ec2::254", NO, "metadata" },
	{ "fd00:ec3::", PRIVATE, "unique local" },
	{ "fd20:ce::253", PRIVATE, "unique local" },
	{ "fd20:ce::254", NO, "metadata" },
	{ "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", PRIVATE, "unique local" },
	{ "fe00::", YES, NULL },
	{ "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", YES, NULL },
	{ "fe80::", NO, "link-local" },
	{ "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NO, "link-local" },
	{ "fec0::", NO, "site-local" },
	{ "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NO, "site-local" },
	{ "ff00::", NO, "multicast" },
	{ "ff02::1", NO, "multicast" },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NO, "multicast" },
};

static void contains(const char *where, const char *what, const char *input)
{
	if (!strstr(where, what))
		fail_msg("%s: \"%s\" does not say \"%s\"", input, where, what);
}

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		struct bm_destination d = {}, again = {};
		struct bm_error err = {};
		char text[BM_DESTINATION_LEN];

		if (bm_destination_parse(accepted[i].text, &d, &err) < 0)
			fail_msg("%s: %s", accepted[i].text, err.message);
		assert_string_equal(bm_destination_format(&d, text), accepted[i].format);
		assert_int_equal(bm_destination_parse(text, &again, &err), 0);
		assert_memory_equal(&d, &again, sizeof(d));
	}
}

static void test_rejected(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rejected) / sizeof(rejected[0]); i++) {
		struct bm_destination d, untouched;
		struct bm_error err = {};

		memset(&d, 0x5a, sizeof(d));
		untouched = d;
		if (bm_destination_parse(rejected[i].text, &d, &err) != -EINVAL)
			fail_msg("\"%s\" was not refused", rejected[i].text);
		contains(err.message, rejected[i].message, rejected[i].text);
		contains(err.remedy, rejected[i].remedy ?: "", rejected[i].text);
		assert_true(err.remedy[0] && err.rule[0]);
		assert_int_equal(bm_destination_parse(rejected[i].text, &d, NULL), -EINVAL);
		assert_memory_equal(&d, &untouched, sizeof(d));
		for (const char *p = err.message; *p; p++)
			assert_true(*p >= 0x20 && *p < 0x7f);
	}
}

static void check_one(const char *host, bool allow_private, bool allowed, const char *message)
{
	struct bm_destination d = {};
	struct bm_error err = {};
	bool v6 = strchr(host, ':');
	char text[80];
	int r;

	snprintf(text, sizeof(text), "%s%s%s:443", v6 ? "[" : "", host, v6 ? "]" : "");
	if (bm_destination_parse(text, &d, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	r = bm_destination_check(&d, allow_private, &err);
	if (r != (allowed ? 0 : -EPERM))
		fail_msg("%s (private %d): %d %s", host, allow_private, r, err.message);
	if (!allowed) {
		contains(err.message, message, host);
		assert_true(err.rule[0] && err.remedy[0]);
	}
}

static void test_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(checked) / sizeof(checked[0]); i++) {
		check_one(checked[i].host, false, checked[i].verdict == YES, checked[i].message);
		check_one(checked[i].host, true, checked[i].verdict != NO, checked[i].message);
	}
}

static void test_nonsense(void **state)
{
	struct bm_destination d = {
		{ [10] = 0xff, 0xff, 198, 51, 100, 10 }, 443, IPPROTO_TCP, false
	};

	(void)state;
	assert_int_equal(bm_destination_check(&d, false, NULL), 0);
	d.port = 0;
	assert_int_equal(bm_destination_check(&d, false, NULL), -EINVAL);
	d.port = 443;
	d.protocol = IPPROTO_UDPLITE;
	assert_int_equal(bm_destination_check(&d, false, NULL), -EINVAL);
}

/* In order, each once, and found; protocol and port count as much as the address. */
static void test_sorted(void **state)
{
	static const char *const texts[] = { "198.51.100.10:80",     "198.51.100.9:80",
					     "[2001:db8::1]:443",    "198.51.100.10:80/udp",
					     "198.51.100.10:80/tcp", "[2001:db8::1]:80",
					     "198.51.100.10:443" };
	static const char *const sorted[] = {
		"198.51.100.9:80/tcp",  "198.51.100.10:80/tcp", "198.51.100.10:443/tcp",
		"198.51.100.10:80/udp", "[2001:db8::1]:80/tcp", "[2001:db8::1]:443/tcp",
	};
	struct bm_destination list[sizeof(texts) / sizeof(texts[0])], other;
	size_t count = sizeof(texts) / sizeof(texts[0]), left = sizeof(sorted) / sizeof(sorted[0]);
	char text[BM_DESTINATION_LEN];

	(void)state;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bm_destination_parse(texts[i], &list[i], NULL), 0);
	assert_int_equal(bm_destinations_sort(list, count), left);
	for (size_t i = 0; i < left; i++) {
		assert_string_equal(bm_destination_format(&list[i], text), sorted[i]);
		assert_true(bm_destinations_have(list, left, &list[i]));
		other = list[i];
		other.port++;
		assert_false(bm_destinations_have(list, left, &other));
	}
	assert_int_equal(bm_destinations_sort(NULL, 0), 0);
	assert_false(bm_destinations_have(NULL, 0, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted), cmocka_unit_test(test_rejected),
		cmocka_unit_test(test_checked),  cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_sorted),
	};

	return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
