// SPDX-License-Identifier: GPL-2.0-only
/* A port that is listened on: as it is typed, asked for, recorded, and as the kernel's key. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/parse.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/listen.h"
#include "gatekeeperd/replay.h"
#include "network/peer.h"

static void test_typed(void **state)
{
	static const struct {
		const char *text;
		int64_t port;
		const char *protocol, *message;
	} cases[] = {
		{ "1", 1, "tcp", NULL },
		{ "65535", 65535, "tcp", NULL },
		{ "8080/tcp", 8080, "tcp", NULL },
		{ "53/udp", 53, "udp", NULL },
		{ "", 0, NULL, "not a port number" },
		{ "http", 0, NULL, "not a port number" },
		{ "-1", 0, NULL, "not a port number" },
		{ " 80", 0, NULL, "not a port number" },
		{ "80 ", 0, NULL, "not a port number" },
		{ "80:udp", 0, NULL, "not a port number" },
		{ "0", 0, NULL, "not in 1 to 65535" },
		{ "65536", 0, NULL, "not in 1 to 65535" },
		{ "99999999999999999999", 0, NULL, "not in 1 to 65535" },
		{ "080", 0, NULL, "leading zeros" },
		{ "80/", 0, NULL, "no such protocol" },
		{ "80/sctp", 0, NULL, "no such protocol" },
		{ "80/udp/tcp", 0, NULL, "no such protocol" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *protocol = NULL;
		struct bm_error err = {};
		int64_t port = -7;
		int r = cli_parse_port(cases[i].text, &port, &protocol, &err);

		if (cases[i].message) {
			assert_int_equal(r, -EINVAL);
			assert_int_equal(port, -7);
			if (!strstr(err.message, cases[i].message))
				fail_msg("%s: %s", cases[i].text, err.message);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(port, cases[i].port);
		assert_string_equal(protocol, cases[i].protocol);
	}
}

static void test_peers(void **state)
{
	static const struct {
		const char *text, *shown, *message;
	} cases[] = {
		{ "192.0.2.1", "192.0.2.1", NULL },
		{ "10.209.0.2", "10.209.0.2", NULL },
		{ "2001:db8::0:1", "2001:db8::1", NULL },
		{ "fd00::1", "fd00::1", NULL },
		/* The same peer, however it is written. */
		{ "::ffff:192.0.2.1", "192.0.2.1", NULL },
		{ "", NULL, "\"\" is no address" },
		{ "example.test", NULL, "\"example.test\" is no address" },
		{ "192.0.2", NULL, "is no address" },
		{ "192.0.2.1:80", NULL, "is no address" },
		{ "[2001:db8::1]", NULL, "is no address" },
		{ "192.0.2.0/24", NULL, "192.0.2.0/24 is a prefix" },
		{ "fe80::1%eth0", NULL, "has a scope" },
		{ "\x1b[31m", NULL, "\"\\x1b[31m\" is no address" },
		{ "0.0.0.0", NULL, "0.0.0.0 is an unspecified address" },
		{ "::", NULL, ":: is the unspecified address" },
		{ "127.0.0.1", NULL, "is a loopback address" },
		{ "::ffff:127.0.0.1", NULL, "is a loopback address" },
		{ "::1", NULL, "is the loopback address" },
		{ "224.0.0.1", NULL, "is a multicast address" },
		{ "ff02::1", NULL, "is a multicast address" },
		{ "255.255.255.255", NULL, "is the broadcast address" },
		{ "169.254.1.1", NULL, "is a link-local address" },
		{ "fe80::1", NULL, "is a link-local address" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bm_destination d = { .port = 80, .protocol = IPPROTO_TCP }, before = d;
		char text[INET6_ADDRSTRLEN];
		struct bm_error err = {};
		int r = bm_peer_parse(cases[i].text, &d, &err);

		if (cases[i].message) {
			assert_true(r == -EINVAL || r == -EPERM);
			assert_non_null(err.remedy[0] ? err.remedy : NULL);
			assert_memory_equal(&d, &before, sizeof(d));
			if (!strstr(err.message, cases[i].message))
				fail_msg("%s: %s", cases[i].text, err.message);
			continue;
		}
		assert_int_equal(r, 0);
		assert_true(d.listens && d.port == 80);
		assert_string_equal(bm_peer_format(&d, text), cases[i].shown);
	}
}

static struct json_object *parse(const char *text)
{
	struct json_object *json = NULL;

	assert_int_equal(bm_json_parse(text, strlen(text), "test", &json, NULL), 0);
	return json;
}

#define PORT "\"port\":8080,\"protocol\":\"tcp\""

static void test_asked(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "{\"protocol\":\"tcp\"}", "\"port\" is missing" },
		{ "{\"port\":\"80\",\"protocol\":\"tcp\"}", "\"port\" is missing" },
		{ "{\"port\":0,\"protocol\":\"tcp\"}", "port 0 is not in 1 to 65535" },
		{ "{\"port\":-1,\"protocol\":\"tcp\"}", "port -1 is not in" },
		{ "{\"port\":65536,\"protocol\":\"tcp\"}", "port 65536 is not in" },
		{ "{\"port\":80}", "\"protocol\" is tcp or udp" },
		{ "{\"port\":80,\"protocol\":\"sctp\"}", "\"protocol\" is tcp or udp" },
		{ "{" PORT ",\"from\":\"192.0.2.1\"}", "\"from\" is a list" },
		{ "{" PORT ",\"from\":[]}", "\"from\" is a list" },
		{ "{" PORT ",\"from\":[1]}", "\"from\" holds addresses" },
		{ "{" PORT ",\"from\":[\"192.0.2.1\",\"::ffff:192.0.2.1\"]}",
		  "192.0.2.1 is named twice" },
		{ "{" PORT ",\"from\":[\"192.0.2.1\",\"224.0.0.1\"]}", "is a multicast address" },
	};
	struct grant_hosts hosts = {};
	autojson *bare = parse("{" PORT "}");

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		autojson *json = parse(cases[i].text);
		struct bm_error err = {};

		assert_true(listen_from_json(json, &hosts, &err) < 0);
		assert_int_equal(hosts.count, 0);
		if (!strstr(err.message, cases[i].message))
			fail_msg("%s: %s", cases[i].text, err.message);
	}
	/* Who that is, is found later. */
	assert_int_equal(listen_from_json(bare, &hosts, NULL), 0);
	assert_int_equal(hosts.count, 0);
}

#define HEAD                                                                                       \
	"{\"id\":\"b1/4\",\"kind\":\"listen\",\"created\":\"2026-01-02T03:04:05Z\","               \
	"\"confirmed\":{\"uid\":0,\"how\":\"yes\"}"

static void test_recorded(void **state)
{
	static const char text[] = HEAD "," PORT ",\"from\":[\"192.0.2.1\",\"2001:db8::1\"]}";
	autojson *json = parse(text), *again = NULL, *nobody = parse(HEAD "," PORT "}");
	struct bm_destination out, in = { .port = 8080, .protocol = IPPROTO_TCP };
	struct model model = {};
	struct bench *bench = model_add(&model, "b1", 3);
	struct bm_dest dest = { .grant = 4 };
	struct bm_dest_key key;
	struct bm_keep keep;
	struct grant *g = NULL;

	(void)state;
	assert_int_equal(grant_from_json(nobody, &g), -EBADMSG);
	assert_int_equal(grant_from_json(json, &g), 0);
	assert_int_equal(g->kind, GRANT_LISTEN);
	again = grant_to_json(bench, g);
	assert_string_equal(json_object_to_json_string_ext(
				    again, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			    text);
	bench_add_grant(bench, g);

	/* What comes in is no way out to the same address and port. */
	assert_int_equal(bm_peer_parse("192.0.2.1", &in, NULL), 0);
	out = in;
	out.listens = false;
	assert_true(grant_reaches(g, &in));
	assert_false(grant_reaches(g, &out));
	assert_false(bm_destination_equal(&in, &out));
	key = bench_dest_key(bench, &in);
	assert_int_equal(key.side, BM_SIDE_LISTEN);
	assert_int_equal(key.port, htons(8080));
	keep = replay_keep(&model);
	assert_true(keep.dest(keep.ctx, &key, &dest));
	key.side = BM_SIDE_OUT;
	assert_false(keep.dest(keep.ctx, &key, &dest));
	key = bench_dest_key(bench, &out);
	assert_int_equal(key.side, BM_SIDE_OUT);
	model_remove(&model, bench);
}

/* What a secret must never meet. */
static void test_egress(void **state)
{
	(void)state;
	assert_false(grant_kind_is_egress(GRANT_FILE));
	assert_true(grant_kind_is_egress(GRANT_NET));
	assert_true(grant_kind_is_egress(GRANT_LISTEN));
}

/* The ends of a link, as bm_link_setup() gives them. */
static void test_ends(void **state)
{
	struct bm_destination d = { .port = 1 };
	char text[INET6_ADDRSTRLEN];

	(void)state;
	bm_peer_of_link(7, true, true, &d);
	assert_string_equal(bm_peer_format(&d, text), "10.209.0.14");
	bm_peer_of_link(7, true, false, &d);
	assert_string_equal(bm_peer_format(&d, text), "10.209.0.15");
	bm_peer_of_link(7, false, true, &d);
	assert_string_equal(bm_peer_format(&d, text), "fd62:656e:6368::e");
	assert_true(d.listens && d.port == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_typed),  cmocka_unit_test(test_peers),
		cmocka_unit_test(test_asked),  cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_egress), cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}
