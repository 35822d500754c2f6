// SPDX-License-Identifier: GPL-2.0-only
/* The veth pair, the table on the host and its sysctls, on the running kernel (root). */
#include "network_lab.h"

static void test_foreign(void **state)
{
	struct bm_destination d = dest(HOST4 ":80");
	struct bm_error err = {};
	bool foreign = true;

	(void)state;
	ok(bm_link_foreign(bench_ns, 7, &foreign, &err), &err);
	assert_false(foreign);
	ok(bm_link_foreign(world_ns, 7, &foreign, &err), &err);
	assert_true(foreign);
	ok(bm_link_setup(bench_ns, 7, &d, 1, &err), &err);
	ok(bm_link_foreign(bench_ns, 7, &foreign, &err), &err);
	assert_false(foreign);
	ok(bm_link_foreign(bench_ns, 8, &foreign, &err), &err);
	assert_true(foreign);
	ok(bm_link_destroy(7, &err), &err);
}

static void withdraw(int ns, const char *text)
{
	struct bm_destination d = dest(text);
	struct bm_error err = {};

	ok(bm_nft_remove(NFT(ns), &d, 1, &err), &err);
}

/* Grant, use, revoke with a connection open; server and the address are the host's or beyond. */
static void use(int server_ns, const char *host)
{
	char tcp[64], neighbour[64], udp[64];
	autoclose server = -1, near = -1, datagrams = -1, client = -1, accepted = -1;
	struct bm_error err = {};
	char byte = 'x';

	snprintf(tcp, sizeof(tcp), "%s:8080", host);
	snprintf(neighbour, sizeof(neighbour), "%s:8081", host);
	snprintf(udp, sizeof(udp), "%s:8080/udp", host);
	server = serve(server_ns, tcp);
	near = serve(server_ns, neighbour);
	datagrams = serve(server_ns, udp);
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	grant(bench_ns, 7, tcp);
	grant(bench_ns, 7, tcp);
	client = dial(bench_ns, tcp, PASS_MS);
	assert_true(client >= 0);
	assert_true(blocked(bench_ns, neighbour));
	assert_false(datagram(bench_ns, udp, datagrams, 100, BLOCK_MS));
	assert_true(ready(server, POLLIN, PASS_MS));
	accepted = accept(server, NULL, NULL);
	assert_int_equal(write(client, &byte, 1), 1);
	assert_true(ready(accepted, POLLIN, PASS_MS));
	assert_int_equal(read(accepted, &byte, 1), 1);
	/* The host can find the Bench again by itself, also for what it forwards. */
	must(host_ns, "ip neigh flush dev bm7; ip -6 neigh flush dev bm7");
	assert_int_equal(write(accepted, &byte, 1), 1);
	assert_true(ready(client, POLLIN, PASS_MS));
	assert_int_equal(read(client, &byte, 1), 1);

	withdraw(bench_ns, tcp);
	withdraw(bench_ns, tcp);
	assert_int_equal(write(client, &byte, 1), 1);
	assert_false(ready(accepted, POLLIN, BLOCK_MS));
	assert_int_equal(write(accepted, &byte, 1), 1);
	assert_false(ready(client, POLLIN, BLOCK_MS));
	assert_true(blocked(bench_ns, tcp));

	grant(bench_ns, 7, udp);
	assert_true(datagram(bench_ns, udp, datagrams, 100, PASS_MS));
	/* Larger than the link's MTU: fragmented behind the table, whole before it. */
	assert_true(datagram(bench_ns, udp, datagrams, 4000, PASS_MS));
	withdraw(bench_ns, udp);
	assert_false(datagram(bench_ns, udp, datagrams, 4000, BLOCK_MS));
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

static void test_host_local(void **state)
{
	(void)state;
	remember();
	use(host_ns, HOST4);
	assert_unchanged();
	use(host_ns, "[2001:db8:1::1]");
	assert_unchanged();
}

static void test_beyond(void **state)
{
	(void)state;
	remember();
	use(world_ns, WORLD4);
	assert_unchanged();
	use(world_ns, "203.0.113.1");
	assert_unchanged();
}

static void test_beyond_strict(void **state)
{
	(void)state;
	set_sysctl(host_ns, "ipv4/conf/all/rp_filter", "1");
	remember();
	use(host_ns, HOST4);
	use(world_ns, WORLD4);
	assert_unchanged();
	set_sysctl(host_ns, "ipv4/conf/all/rp_filter", "0");
}

/* The host forwards already, for a container engine: nothing is turned off under its feet. */
static void test_beyond_forwarding_host(void **state)
{
	(void)state;
	set_sysctl(host_ns, "ipv4/ip_forward", "1");
	remember();
	use(world_ns, WORLD4);
	assert_unchanged();
	set_sysctl(host_ns, "ipv4/ip_forward", "0");
}

static void test_beyond_v6(void **state)
{
	struct bm_destination d = dest(WORLD6 ":8080");
	struct bm_error err = {};

	(void)state;
	remember();
	assert_int_equal(bm_link_setup(bench_ns, 7, &d, 1, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.message, "does not forward IPv6"));
	assert_non_null(strstr(err.remedy, "net.ipv6.conf.up0.accept_ra=2"));
	assert_unchanged();
	set_sysctl(host_ns, "ipv6/conf/all/forwarding", "1");
	remember();
	use(world_ns, WORLD6);
	assert_unchanged();
	set_sysctl(host_ns, "ipv6/conf/all/forwarding", "0");
}

static void send_far(int ns, const char *to, int hops)
{
	struct bm_destination d = dest(to);
	bool v4 = bm_destination_is_v4(&d);
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(d.port) };
	autoclose fd = open_socket(ns, AF_INET6, SOCK_DGRAM, 0);

	memcpy(&address.sin6_addr, d.address, sizeof(d.address));
	assert_int_equal(setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6,
				    v4 ? IP_TTL : IPV6_UNICAST_HOPS, &hops, sizeof(hops)),
			 0);
	assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof(address)), 1);
}

/* An IPv6 datagram for that port, among what the link itself says. */
static bool comes(int fd, int port)
{
	uint8_t data[2048];
	bool found = false;

	while (!found && ready(fd, POLLIN, PASS_MS))
		found = recv(fd, data, sizeof(data), 0) > 44 && data[6] == IPPROTO_UDP &&
			(data[42] << 8 | data[43]) == port;
	return found;
}

/* What was off for the world stays off while a Bench is forwarded, and Benches do not meet. */
static void test_forwarding_for_benches_only(void **state)
{
	autoclose w = serve(world_ns, WORLD4 ":8080"), sniffer = -1;
	autoclose b = serve(other_ns, "127.0.0.1:1");
	struct bm_error err = {};

	(void)state;
	remember();
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	ok(bm_nft_setup(NFT(other_ns), &err), &err);
	grant(bench_ns, 7, WORLD4 ":8080");
	grant(other_ns, 8, WORLD4 ":8080");
	assert_true(connects(bench_ns, WORLD4 ":8080"));
	assert_true(connects(other_ns, WORLD4 ":8080"));
	/* With the second layer gone, the host's table still holds. */
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
	ok(bm_nft_destroy(NFT(other_ns), &err), &err);
	sniffer = sniff(other_ns, "eth0", ETH_P_IP);
	assert_true(blocked(bench_ns, "10.209.0.17:80"));
	must(world_ns, "ip route add 10.209.0.0/16 via 198.51.100.1");
	assert_true(blocked(world_ns, "10.209.0.17:80"));
	must(world_ns, "ip route del 10.209.0.0/16 via 198.51.100.1");
	assert_int_equal(sniffed(sniffer, 0), 0);

	/* Forwarding of up0 is on now, but the world gets nowhere with it. */
	must(host_ns, "grep -q 1 /proc/sys/net/ipv4/conf/up0/forwarding");
	must(host_ns, "ip link add d0 type veth peer name d9; "
		      "ip link set d0 up; ip link set d9 up; "
		      "ip addr add 203.0.114.1/24 dev d0; "
		      "ip neigh add 203.0.114.9 lladdr 02:00:00:00:00:09 dev d0");
	close(sniffer);
	sniffer = sniff(host_ns, "d9", ETH_P_IP);
	must(world_ns, "ip route add 203.0.114.0/24 via 198.51.100.1");
	assert_true(blocked(world_ns, "203.0.114.9:80"));
	assert_int_equal(sniffed(sniffer, 0), 0);
	/* Nor is it told of the way, or that there is one. Connections from before may still end.
	 */
	close(sniffer);
	must(world_ns, "ip route add 192.0.2.9/32 via 198.51.100.1");
	sniffer = sniff(world_ns, "w0", ETH_P_IP);
	send_far(world_ns, "203.0.114.9:80", 1);
	send_far(world_ns, "192.0.2.9:80", 64);
	assert_int_equal(sniffed_of(sniffer, 0, IPPROTO_ICMP), 0);
	send_far(world_ns, HOST4 ":9", 1);
	assert_int_equal(sniffed_of(sniffer, 1, IPPROTO_ICMP), 1);
	must(world_ns, "ip route del 203.0.114.0/24 via 198.51.100.1; ip route del 192.0.2.9/32");

	/* What the host forwards by itself, of IPv6, it goes on forwarding. */
	close(sniffer);
	set_sysctl(host_ns, "ipv6/conf/all/forwarding", "1");
	must(host_ns, "ip addr add 2001:db8:9::1/64 dev d0 nodad; "
		      "ip neigh add 2001:db8:9::9 lladdr 02:00:00:00:00:09 dev d0");
	must(world_ns, "ip route add 2001:db8:9::/64 via 2001:db8:1::1");
	sniffer = sniff(host_ns, "d9", ETH_P_IPV6);
	send_far(world_ns, "[2001:db8:9::9]:4099", 64);
	assert_true(comes(sniffer, 4099));
	must(world_ns, "ip route del 2001:db8:9::/64 via 2001:db8:1::1");
	set_sysctl(host_ns, "ipv6/conf/all/forwarding", "0");
	must(host_ns, "ip link del d0");

	/* The first to go leaves the other one's way open. */
	ok(bm_link_destroy(7, &err), &err);
	assert_true(connects(other_ns, WORLD4 ":8080"));
	ok(bm_link_destroy(8, &err), &err);
	ok(bm_link_destroy(8, &err), &err);
	assert_unchanged();
}

static void test_refusals(void **state)
{
	struct bm_destination d = dest(WORLD4 ":80"), nowhere = dest("203.0.113.9:80");
	struct bm_error err = {};

	(void)state;
	remember();
	/* 32775 % 32768 is 7 */
	ok(bm_link_setup(bench_ns, 7, &d, 1, &err), &err);
	assert_int_equal(bm_link_setup(other_ns, 32775, &d, 1, &err), -EADDRINUSE);
	assert_non_null(
		strstr(err.message, "10.209.0.14/31, wanted for bm32775, is in use by bm7"));
	err = (struct bm_error){};
	assert_int_equal(bm_link_setup(other_ns, 7, &d, 1, &err), -EEXIST);
	assert_non_null(strstr(err.message, "another network namespace"));
	err = (struct bm_error){};
	nowhere = dest("10.209.0.15:80");
	assert_int_equal(bm_link_setup(other_ns, 9, &nowhere, 1, &err), -EPERM);
	assert_non_null(strstr(err.message, "address of a Bench"));
	err = (struct bm_error){};
	ok(bm_link_destroy(7, &err), &err);
	assert_unchanged();

	must(host_ns, "ip link add bm7 type veth peer name d1; "
		      "ip addr add 10.209.0.1/24 dev d1; ip link set d1 up; "
		      "ip route del default");
	await(host_ns, RTMGRP_LINK, without_carrier, "d1");
	remember();
	assert_int_equal(bm_link_setup(bench_ns, 7, &d, 1, &err), -EEXIST);
	assert_non_null(strstr(err.message, "bm7 that benchmon did not make"));
	err = (struct bm_error){};
	assert_int_equal(bm_link_destroy(7, &err), -EEXIST);
	err = (struct bm_error){};
	assert_int_equal(bm_link_setup(bench_ns, 8, &d, 1, &err), -EADDRINUSE);
	assert_non_null(strstr(err.message, "by d1: the host has a route to 10.209.0.0/24 there"));
	assert_non_null(strstr(err.remedy, "10.209.0.0/16"));
	err = (struct bm_error){};
	nowhere = dest("203.0.113.9:80");
	assert_int_equal(bm_link_setup(bench_ns, 300, &nowhere, 1, &err), -ENETUNREACH);
	assert_non_null(strstr(err.message, "no route to 203.0.113.9:80/tcp"));
	err = (struct bm_error){};
	nowhere = dest("198.51.100.255:80");
	assert_int_equal(bm_link_setup(bench_ns, 300, &nowhere, 1, &err), -EPERM);
	err = (struct bm_error){};
	must(other_ns, "ip link add eth0 type veth peer name d1");
	assert_int_equal(bm_link_setup(other_ns, 300, &d, 1, &err), -EEXIST);
	assert_non_null(strstr(err.message, "already has an interface eth0"));
	assert_unchanged();
	must(other_ns, "ip link del eth0");
	must(host_ns, "ip link del bm7; "
		      "ip route add default via 198.51.100.10");
}

/* Of several: all that any of them needs, at once. */
static void test_several(void **state)
{
	struct bm_destination list[] = { dest("[2001:db8:1::1]:82"), dest("[2001:db8:2::1]:80"),
					 dest(WORLD4 ":80"),         dest(WORLD4 ":81"),
					 dest("203.0.113.1:80"),     dest(HOST4 ":80") };
	size_t count = sizeof(list) / sizeof(list[0]);
	autofree char *inside = NULL, *inside6 = NULL;
	struct bm_error err = {};

	(void)state;
	remember();
	/* A Bench's address among them: nothing of it. */
	ok(bm_link_setup(other_ns, 8, &list[2], 1, &err), &err);
	list[4] = dest("10.209.0.17:80");
	assert_int_equal(bm_link_setup(bench_ns, 7, list, count, &err), -EPERM);
	assert_non_null(strstr(err.message, "10.209.0.17:80/tcp is the address of a Bench"));
	assert_false(bm_link_there(7));
	err = (struct bm_error){};
	ok(bm_link_destroy(8, &err), &err);
	assert_unchanged();

	/* There is no route for the second one. */
	list[4] = dest("203.0.113.1:80");
	assert_int_equal(bm_link_setup(bench_ns, 7, &list[1], 1, &err), -ENETUNREACH);
	err = (struct bm_error){};
	ok(bm_link_setup(bench_ns, 7, list, count, &err), &err);
	inside = output(bench_ns, "ip route show default");
	assert_non_null(strstr(inside, "default via 10.209.0.14 "));
	inside6 = output(bench_ns, "ip -6 route show default");
	assert_non_null(strstr(inside6, "default via fd62:"));
	must(host_ns, "grep -q 1 /proc/sys/net/ipv4/conf/up0/forwarding");
	assert_int_equal(bm_link_beyond(list, 1), AF_UNSPEC);
	assert_int_equal(bm_link_beyond(list, count), AF_INET);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_link_setup(bench_ns, 7, list, 0, &err), &err);
	assert_unchanged();
}

/* Whoever is root in the Bench's network has taken its own table away: the host's end still holds.
 */
static void test_host_end(void **state)
{
	autoclose world = serve(world_ns, WORLD4 ":80"), near = serve(world_ns, WORLD4 ":81");
	autoclose datagrams = serve(world_ns, WORLD4 ":80/udp"), own = -1;
	autoclose host = serve(host_ns, HOST4 ":82"), host6 = serve(host_ns, "[2001:db8:1::1]:82");
	autoclose big = serve(host_ns, HOST4 ":83/udp");
	struct bm_destination d = dest(WORLD4 ":80"), *list = NULL;
	struct bm_nft link = bm_link_nft(7);
	autofree char *inside = NULL, *rules = NULL;
	struct bm_error err = {};
	size_t count = 0;

	(void)state;
	remember();
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	grant(bench_ns, 7, WORLD4 ":80");
	grant(bench_ns, 7, WORLD4 ":80/udp");
	grant(bench_ns, 7, "[2001:db8:1::1]:82");
	grant(bench_ns, 7, HOST4 ":83/udp");
	must(bench_ns, "nft flush ruleset");
	inside = output(bench_ns, "nft list ruleset");
	assert_string_equal(inside, "");
	assert_true(connects(bench_ns, WORLD4 ":80"));
	assert_true(connects(bench_ns, "[2001:db8:1::1]:82"));
	assert_true(datagram(bench_ns, WORLD4 ":80/udp", datagrams, 4000, PASS_MS));
	assert_true(datagram(bench_ns, HOST4 ":83/udp", big, 4000, PASS_MS));
	assert_true(blocked(bench_ns, WORLD4 ":81"));
	assert_true(blocked(bench_ns, HOST4 ":82"));
	assert_true(blocked(bench_ns, "10.209.0.14:82"));
	assert_false(datagram(bench_ns, WORLD4 ":81/udp", datagrams, 10, BLOCK_MS));
	own = serve(bench_ns, "10.209.0.15:22");
	assert_true(blocked(host_ns, "10.209.0.15:22"));
	ok(bm_nft_list(&link, &list, &count, &err), &err);
	assert_int_equal(count, 4);
	free(list);
	/* What nft lists, nft reads back. */
	rules = output(host_ns, "nft list table inet benchmon_bm7");
	assert_int_equal(bm_write_file(AT_FDCWD, "/run/rules", O_CREAT | O_TRUNC, 0600, rules), 0);
	must(host_ns, "nft -c -f /run/rules");
	ok(bm_nft_remove(&link, &d, 1, &err), &err);
	assert_true(blocked(bench_ns, WORLD4 ":80"));
	ok(bm_link_destroy(7, &err), &err);
	assert_unchanged();
	assert_int_equal(bm_nft_list(&link, &list, &count, &err), -ENOENT);
}

/* Another program turns forwarding on for good while a Bench is up. */
static void test_overtaken(void **state)
{
	struct bm_destination d = dest(WORLD4 ":80");
	autofree char *forwarding = NULL;
	struct bm_error err = {};

	(void)state;
	ok(bm_link_setup(bench_ns, 7, &d, 1, &err), &err);
	set_sysctl(host_ns, "ipv4/ip_forward", "1");
	ok(bm_link_setup(other_ns, 8, &d, 1, &err), &err);
	forwarding = output(host_ns, "ls /run/benchmon/network/forwarding");
	assert_string_equal(forwarding, "");
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_link_destroy(8, &err), &err);
	must(host_ns, "grep -q 1 /proc/sys/net/ipv4/conf/up0/forwarding");
	set_sysctl(host_ns, "ipv4/ip_forward", "0");
}

/* The Bench's namespace ends before its link is destroyed. */
static void test_vanished(void **state)
{
	struct bm_destination d = dest(WORLD4 ":80");
	struct bm_error err = {};
	int ns;

	(void)state;
	remember();
	ns = new_namespace();
	ok(bm_link_setup(ns, 4294967295u, &d, 1, &err), &err);
	assert_false(gone(host_ns, "bm4294967295"));
	close(ns);
	await(host_ns, RTMGRP_LINK, gone, "bm4294967295");
	ok(bm_link_destroy(4294967295u, &err), &err);
	assert_unchanged();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_host_local),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_beyond_strict),
		cmocka_unit_test(test_beyond_forwarding_host),
		cmocka_unit_test(test_beyond_v6),
		cmocka_unit_test(test_forwarding_for_benches_only),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_host_end),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_vanished),
	};

	return cmocka_run_group_tests_name("link", tests, make_world, NULL);
}
