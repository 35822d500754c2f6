// SPDX-License-Identifier: GPL-2.0-only
/* What others on the host do to forwarded packets, on the running kernel (root). */
#include "network/obstacle.h"
#include "network_lab.h"
#include "xtables_lab.h"

#define LINK "bm7"

static struct bm_obstacle list[BM_OBSTACLES_MAX];

static size_t find(int family)
{
	struct bm_error err = {};
	size_t count = 99;

	ok(bm_obstacles_find(family, LINK, list, &count, &err), &err);
	return count;
}

/* One line; nft wants a chain's end to be a line's. */
static void load(const char *text)
{
	char rules[512];

	assert_true(snprintf(rules, sizeof(rules), "%s\n", text) < (int)sizeof(rules));
	for (char *end = rules; (end = strstr(end, "} "));)
		end[1] = '\n';
	assert_int_equal(bm_write_file(AT_FDCWD, "/run/rules", O_CREAT | O_TRUNC, 0600, rules), 0);
	must(host_ns, "nft -f /run/rules");
	assert_int_equal(unlink("/run/rules"), 0);
}

/* It is swallowed, it is said, and what is advised helps. */
static void test_swallowed(void **state)
{
	autoclose server = serve(world_ns, WORLD4 ":80");
	struct bm_error err = {};

	(void)state;
	remember();
	assert_int_equal(find(AF_UNSPEC), 0);
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	grant(bench_ns, 7, WORLD4 ":80");
	assert_int_equal(find(AF_INET), 0);
	assert_true(connects(bench_ns, WORLD4 ":80"));
	load("table inet strict { chain way { type filter hook forward priority 5; policy drop; } "
	     "chain in { type filter hook input priority 5; policy drop; } }");
	assert_true(blocked(bench_ns, WORLD4 ":80"));
	assert_int_equal(find(AF_INET), 1);
	assert_non_null(strstr(list[0].what, "chain way of nftables table inet strict drops"));
	assert_string_equal(list[0].remedy,
			    "nft insert rule inet strict way iifname 'bm*' accept && "
			    "nft insert rule inet strict way oifname 'bm*' accept");
	must(host_ns, "nft insert rule inet strict way iifname bm* accept; "
		      "nft insert rule inet strict way oifname bm* accept");
	assert_int_equal(find(AF_UNSPEC), 0);
	assert_true(connects(bench_ns, WORLD4 ":80"));
	must(host_ns, "nft delete table inet strict");
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
	assert_unchanged();
}

/* Tables as these programs make them, as far as they are looked at. */
static void test_known(void **state)
{
	static const struct {
		const char *rules, *who, *remedy, *table;
		int family;
	} cases[] = {
		{ "table ip filter { chain DOCKER-USER { } chain FORWARD { type filter hook "
		  "forward priority 0; policy drop; jump DOCKER-USER; } }",
		  "ip filter (docker)", "iptables -I DOCKER-USER -i bm+ -j ACCEPT", "ip filter",
		  AF_INET },
		{ "table ip6 filter { chain ufw6-before-forward { } chain FORWARD { type filter "
		  "hook forward priority 0; policy drop; jump ufw6-before-forward; } }",
		  "ip6 filter (ufw)", "ufw route allow in on bm7 && ufw route allow out on bm7",
		  "ip6 filter", AF_INET6 },
		{ "table ip filter { chain FORWARD { type filter hook forward priority 0; "
		  "policy drop; } }",
		  "ip filter (iptables)", "iptables -I FORWARD -o bm+ -j ACCEPT", "ip filter",
		  AF_INET },
		{ "table inet firewalld { chain filter_FORWARD { type filter hook forward "
		  "priority 10; policy accept; reject; } }",
		  "inet firewalld (firewalld)", "firewall-cmd --zone=trusted --add-interface=bm7",
		  "inet firewalld", AF_INET },
	};

	(void)state;
	remember();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int other = cases[i].family == AF_INET ? AF_INET6 : AF_INET;
		bool both = !strncmp(cases[i].table, "inet", 4);

		load(cases[i].rules);
		assert_int_equal(find(cases[i].family), 1);
		assert_non_null(strstr(list[0].what, cases[i].who));
		assert_non_null(strstr(list[0].remedy, cases[i].remedy));
		assert_int_equal(find(AF_UNSPEC), 1);
		assert_int_equal(find(other), both ? 1 : 0);
		must(host_ns, "nft delete table %s", cases[i].table);
	}
	/* Forwarding that is open, or another hook's policy, is nobody's obstacle. */
	load("table ip filter { chain FORWARD { type filter hook forward priority 0; } "
	     "chain INPUT { type filter hook input priority 0; policy drop; } }");
	assert_int_equal(find(AF_UNSPEC), 0);
	must(host_ns, "nft delete table ip filter");
	assert_unchanged();
}

/* What iptables-legacy makes, which is in no list of nf_tables. */
static void test_legacy(void **state)
{
	autoclose server = serve(world_ns, WORLD4 ":80");
	struct bm_error err = {};

	(void)state;
	/* As long as nobody has made such a table, asking makes none. */
	must(host_ns, "modprobe ip_tables; modprobe ip6_tables");
	assert_int_equal(find(AF_UNSPEC), 0);
	assert_false(has_legacy("ip_tables_names") || has_legacy("ip6_tables_names"));

	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	grant(bench_ns, 7, WORLD4 ":80");
	assert_true(connects(bench_ns, WORLD4 ":80"));
	legacy(AF_INET, &(struct legacy){ .drops = true });
	assert_true(has_legacy("ip_tables_names"));
	assert_true(blocked(bench_ns, WORLD4 ":80"));
	assert_int_equal(find(AF_INET), 1);
	assert_non_null(strstr(list[0].what, "chain FORWARD of iptables-legacy drops"));
	assert_string_equal(list[0].remedy, "iptables-legacy -I FORWARD -i bm+ -j ACCEPT && "
					    "iptables-legacy -I FORWARD -o bm+ -j ACCEPT");
	assert_int_equal(find(AF_INET6), 0);
	legacy(AF_INET, &(struct legacy){ .drops = true, .chain = "DOCKER-USER" });
	assert_int_equal(find(AF_UNSPEC), 1);
	assert_non_null(strstr(list[0].what, "iptables-legacy (docker) drops"));
	assert_non_null(strstr(list[0].remedy, "iptables-legacy -I DOCKER-USER -o bm+ -j ACCEPT"));
	legacy(AF_INET, &(struct legacy){ .drops = true, .chain = "ufw-user-forward" });
	assert_int_equal(find(AF_INET), 1);
	assert_non_null(strstr(list[0].what, "iptables-legacy (ufw) drops"));
	assert_non_null(strstr(list[0].remedy, "ufw route allow in on bm7"));
	legacy(AF_INET, &(struct legacy){ .drops = true, .accepts = true, .chain = "mine" });
	assert_int_equal(find(AF_INET), 0);
	legacy(AF_INET, &(struct legacy){ .chain = "mine" });
	assert_int_equal(find(AF_INET), 0);
	assert_true(connects(bench_ns, WORLD4 ":80"));

	legacy(AF_INET6, &(struct legacy){ .drops = true, .chain = "ufw6-user-forward" });
	assert_int_equal(find(AF_INET), 0);
	assert_int_equal(find(AF_INET6), 1);
	assert_non_null(strstr(list[0].what, "chain FORWARD of ip6tables-legacy (ufw) drops"));
	legacy(AF_INET6, &(struct legacy){});
	assert_int_equal(find(AF_UNSPEC), 0);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

static void test_many(void **state)
{
	char rules[256], name[61] = "";

	(void)state;
	/* No half of a command is advised. */
	memset(name, 'n', sizeof(name) - 1);
	snprintf(rules, sizeof(rules),
		 "table inet %s { chain %s { type filter hook forward priority 0; policy drop; } }",
		 name, name);
	load(rules);
	assert_int_equal(find(AF_UNSPEC), 1);
	assert_non_null(strstr(list[0].what, name));
	assert_non_null(strstr(list[0].remedy, "interfaces bm*"));
	must(host_ns, "nft flush ruleset");
	for (int i = 0; i < BM_OBSTACLES_MAX + 2; i++) {
		snprintf(rules, sizeof(rules),
			 "table inet t%d { chain c { type filter hook forward priority %d; "
			 "policy drop; } }",
			 i, i);
		load(rules);
	}
	assert_int_equal(find(AF_UNSPEC), BM_OBSTACLES_MAX);
	must(host_ns, "nft flush ruleset");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_swallowed),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests_name("obstacle", tests, make_world, NULL);
}
