// SPDX-License-Identifier: GPL-2.0-only
/* The table in the Bench, on the running kernel (root). */
#include <netinet/ip.h>
#include <sys/stat.h>

#include "bench/cgroup.h"
#include "network/endpoint.h"
#include "network_lab.h"

/* An IPv4 packet made by hand; false when it did not even get out. */
static bool raw4(int ns, const char *text, uint16_t frag, unsigned int options)
{
	struct bm_destination d = dest(text);
	autoclose fd = open_socket(ns, AF_INET, SOCK_RAW, IPPROTO_RAW);
	uint8_t packet[60] = {};
	struct iphdr *ip = (struct iphdr *)packet;
	struct sockaddr_storage address;
	socklen_t len = sockaddr_of(&d, &address);
	uint8_t *udp = packet + 20 + options;

	((struct sockaddr_in *)&address)->sin_port = 0;
	ip->version = 4;
	ip->ihl = (unsigned int)(5 + options / 4) & 0xf;
	ip->ttl = 64;
	ip->protocol = d.protocol;
	ip->frag_off = htons(frag);
	ip->tot_len = htons((uint16_t)(36 + options));
	ip->id = htons(77);
	memcpy(&ip->daddr, d.address + 12, 4);
	memset(packet + 20, 1, options); /* no-operation */
	udp[2] = (uint8_t)(d.port >> 8);
	udp[3] = (uint8_t)d.port;
	udp[5] = 16;
	return sendto(fd, packet, 36 + options, 0, (struct sockaddr *)&address, len) > 0;
}

/* The same for IPv6: next header, 8 bytes of it, and the ports behind them. */
static bool raw6(int ns, const char *text, uint8_t next, uint8_t hops, uint8_t type)
{
	struct bm_destination d = dest(text);
	autoclose fd = open_socket(ns, AF_INET6, SOCK_RAW, IPPROTO_RAW);
	uint8_t packet[64] = { [0] = 0x60, [5] = 24, [6] = next, [7] = hops };
	struct sockaddr_storage address;
	socklen_t len = sockaddr_of(&d, &address);
	uint8_t *payload = packet + 40;

	((struct sockaddr_in6 *)&address)->sin6_port = 0;
	inet_pton(AF_INET6, "fd62:656e:6368::f", packet + 8);
	memcpy(packet + 24, d.address, 16);
	payload[0] = next == IPPROTO_ICMPV6 ? type : IPPROTO_UDP;
	if (next == IPPROTO_UDP || next == IPPROTO_ICMPV6) {
		payload[2] = (uint8_t)(d.port >> 8);
		payload[3] = (uint8_t)d.port;
	} else {
		payload[2] = next == IPPROTO_ROUTING ? type : 0;
		payload[10] = (uint8_t)(d.port >> 8);
		payload[11] = (uint8_t)d.port;
	}
	return sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&address, len) > 0;
}

/* An echo request (IPv4) that is answered. */
static bool pings(int ns, const char *text, int ms)
{
	static const uint8_t request[8] = { 8, 0, 0xf7, 0xff }; /* type 8, and its checksum */
	struct bm_destination d = dest(text);
	struct sockaddr_storage address;
	socklen_t len = sockaddr_of(&d, &address);
	autoclose fd = open_socket(ns, AF_INET, SOCK_RAW, IPPROTO_ICMP);
	uint8_t got[64];

	((struct sockaddr_in *)&address)->sin_port = 0;
	sendto(fd, request, sizeof(request), 0, (struct sockaddr *)&address, len);
	while (ready(fd, POLLIN, ms)) {
		/* By loopback the request itself is seen, too. */
		if (recv(fd, got, sizeof(got), 0) == 28 && got[20] == 0)
			return true;
	}
	return false;
}

static void test_nothing_leaves(void **state)
{
	struct bm_destination d4 = dest(HOST4 ":80"), d6 = dest("[2001:db8:1::1]:80");
	autoclose server = serve(host_ns, HOST4 ":80/udp"), sniffer = -1;
	autoclose listener = serve(host_ns, HOST4 ":80");
	autofree char *rules = NULL;
	struct bm_error err = {};

	(void)state;
	remember();
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	ok(bm_link_setup(bench_ns, 7, &d4, 1, &err), &err);
	ok(bm_link_setup(bench_ns, 7, &d6, 1, &err), &err);
	sniffer = sniff(host_ns, "bm7", ETH_P_ALL);
	assert_true(blocked(bench_ns, HOST4 ":80"));
	assert_true(blocked(bench_ns, "[2001:db8:1::1]:80"));
	assert_false(datagram(bench_ns, HOST4 ":80/udp", server, 10, BLOCK_MS));
	assert_false(pings(bench_ns, HOST4 ":1", BLOCK_MS));
	raw4(bench_ns, HOST4 ":80/udp", 0, 0);
	raw6(bench_ns, "[2001:db8:1::1]:80/udp", IPPROTO_UDP, 64, 0);
	raw6(bench_ns, "[2001:db8:1::1]:80/udp", IPPROTO_ICMPV6, 255, 128);
	assert_int_equal(sniffed(sniffer, 0), 0);
	/* Loopback is the Bench's own. */
	{
		autoclose local = serve(bench_ns, "127.0.0.1:5000");

		assert_true(connects(bench_ns, "127.0.0.1:5000"));
		assert_true(pings(bench_ns, "127.0.0.1:1", PASS_MS));
	}
	ok(bm_link_destroy(7, &err), &err);
	assert_unchanged();
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
	rules = output(bench_ns, "nft list ruleset");
	assert_string_equal(rules, "");
}

/* Neighbour discovery passes on the link, and only there. */
static void test_discovery(void **state)
{
	struct bm_destination d = dest("[2001:db8:1::1]:80");
	autoclose sniffer = -1;
	struct bm_error err = {};

	(void)state;
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	ok(bm_link_setup(bench_ns, 7, &d, 1, &err), &err);
	sniffer = sniff(host_ns, "bm7", ETH_P_ALL);
	assert_false(raw6(bench_ns, "[2001:db8:1::10]:1", IPPROTO_ICMPV6, 255, 135));
	assert_false(raw6(bench_ns, "[2001:db8:1::10]:1", IPPROTO_ICMPV6, 255, 136));
	assert_false(raw6(bench_ns, "[fd62:656e:6368::e]:1", IPPROTO_ICMPV6, 254, 135));
	assert_false(raw6(bench_ns, "[fd62:656e:6368::e]:1", IPPROTO_ICMPV6, 255, 134));
	assert_false(raw6(bench_ns, "[fd62:656e:6368::e]:1", IPPROTO_ICMPV6, 255, 137));
	assert_true(raw6(bench_ns, "[fd62:656e:6368::e]:1", IPPROTO_ICMPV6, 255, 135));
	assert_int_equal(sniffed(sniffer, 0), 0);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

/* A router's word on the link, as to all nodes: a prefix to make an address of. */
static void advertise(int ns, const char *interface)
{
	static const int hops = 255;
	static const uint8_t said[48] = {
		134, 0, 0, 0, 64, 0, 7,           8,    [16] = 3, 4,    64, 0xc0, 0, 0,
		7,   8, 0, 0, 7,  8, [32] = 0x20, 0x01, 0x0d,     0xb8, 0,  0,    0, 0x77
	};
	autoclose fd = open_socket(ns, AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };

	enter(ns);
	to.sin6_scope_id = if_nametoindex(interface);
	enter(host_ns);
	inet_pton(AF_INET6, "ff02::1", &to.sin6_addr);
	setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops));
	assert_int_equal(sendto(fd, said, sizeof(said), 0, (struct sockaddr *)&to, sizeof(to)),
			 sizeof(said));
}

static bool has_advertised(int ns, const char *interface)
{
	autofree char *addresses = NULL;
	char command[128];

	snprintf(command, sizeof(command), "ip -6 -o address show dev %s", interface);
	addresses = output(ns, command);
	return strstr(addresses, "2001:db8:0:77:");
}

/* In a network that it brought with it, it goes on hearing its router. */
static void test_router(void **state)
{
	struct bm_error err = {};

	(void)state;
	must(other_ns,
	     "ip link add ra0 type veth peer name ra1 netns /proc/%d/fd/%d; ip link set ra0 up",
	     getpid(), bench_ns);
	must(bench_ns, "ip link set ra1 up");
	await(other_ns, RTMGRP_IPV6_ROUTE, has_link_local, "ra0");
	await(bench_ns, RTMGRP_IPV6_ROUTE, has_link_local, "ra1");
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	assert_false(has_advertised(bench_ns, "ra1"));
	advertise(other_ns, "ra0");
	await(bench_ns, RTMGRP_IPV6_IFADDR, has_advertised, "ra1");
	must(bench_ns, "ip link del ra1");
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

static void test_fragments(void **state)
{
	static const char *const sealed4 = WORLD4 ":8080/udp";
	static const char *const sealed6 = "[2001:db8:1::1]:8080/udp";
	autoclose sniffer = -1;
	struct bm_error err = {};

	(void)state;
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	grant(bench_ns, 7, sealed4);
	grant(bench_ns, 7, sealed6);
	sniffer = sniff(host_ns, "bm7", ETH_P_ALL);
	assert_true(raw4(bench_ns, sealed4, 0, 0));
	assert_true(raw4(bench_ns, sealed4, 0x4000, 0)); /* don't fragment */
	assert_true(raw6(bench_ns, sealed6, IPPROTO_UDP, 64, 0));
	assert_int_equal(sniffed(sniffer, 3), 3);
	raw4(bench_ns, sealed4, 0x2000, 0); /* the first of several */
	raw4(bench_ns, sealed4, 0x0001, 0); /* the last */
	raw4(bench_ns, sealed4, 0x2002, 0);
	raw4(bench_ns, sealed4, 0, 4); /* IP options */
	raw4(bench_ns, sealed4, 0, 8);
	raw4(bench_ns, WORLD4 ":8081/udp", 0, 0);
	raw4(bench_ns, WORLD4 ":8080", 0, 0);
	raw6(bench_ns, sealed6, IPPROTO_FRAGMENT, 64, 0);
	raw6(bench_ns, sealed6, IPPROTO_HOPOPTS, 64, 0);
	raw6(bench_ns, sealed6, IPPROTO_DSTOPTS, 64, 0);
	raw6(bench_ns, sealed6, IPPROTO_ROUTING, 64, 0);
	raw6(bench_ns, sealed6, IPPROTO_ROUTING, 64, 4);
	assert_int_equal(sniffed(sniffer, 0), 0);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

/* The destination itself cannot open a connection to the Bench from the sealed port. */
static void test_no_way_in(void **state)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = htons(9090) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(22) };
	autoclose server = -1, client = -1, sniffer = -1;
	struct bm_error err = {};
	int on = 1;

	(void)state;
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	grant(bench_ns, 7, HOST4 ":9090");
	/* A port of its own: connections of earlier tests still send their FIN now and then. */
	server = serve(bench_ns, "10.209.0.15:22");
	inet_pton(AF_INET, HOST4, &from.sin_addr);
	inet_pton(AF_INET, "10.209.0.15", &to.sin_addr);
	client = open_socket(host_ns, AF_INET, SOCK_STREAM, 0);
	setsockopt(client, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(client, (struct sockaddr *)&from, sizeof(from)), 0);
	sniffer = sniff(host_ns, "bm7", ETH_P_ALL);
	connect(client, (struct sockaddr *)&to, sizeof(to));
	assert_false(ready(server, POLLIN, BLOCK_MS));
	assert_int_equal(sniffed(sniffer, 0), 0);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

/* Where brokers listen: of all loopback this alone has to be granted, each endpoint by itself. */
static void test_endpoints(void **state)
{
	const struct bm_destination endpoint = bm_endpoint(1);
	struct bm_destination *list = NULL;
	struct bm_error err = {};
	autoclose server = -1, beside = -1, next = -1, own = -1, client = -1;
	size_t count = 0;

	(void)state;
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	server = serve(bench_ns, "127.98.109.1:80");
	beside = serve(bench_ns, "127.98.109.1:81");
	next = serve(bench_ns, "127.98.109.2:80");
	own = serve(bench_ns, "127.0.0.1:80");
	assert_true(connects(bench_ns, "127.0.0.1:80"));
	assert_true(blocked(bench_ns, "127.98.109.1:80"));
	ok(bm_nft_add(NFT(bench_ns), &endpoint, 1, &err), &err);
	client = dial(bench_ns, "127.98.109.1:80", PASS_MS);
	assert_true(client >= 0);
	assert_true(blocked(bench_ns, "127.98.109.1:81"));
	assert_true(blocked(bench_ns, "127.98.109.2:80"));
	ok(bm_nft_list(NFT(bench_ns), &list, &count, &err), &err);
	assert_int_equal(count, 1);
	assert_true(bm_endpoint_is(&list[0]));
	free(list);
	/* Taken back: what was connected is not any more, to either side. */
	ok(bm_nft_remove(NFT(bench_ns), &endpoint, 1, &err), &err);
	assert_true(blocked(bench_ns, "127.98.109.1:80"));
	assert_int_equal(write(client, "x", 1), 1);
	while (ready(server, POLLIN, 0)) {
		int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		assert_true(fd >= 0);
		assert_false(ready(fd, POLLIN, BLOCK_MS));
		assert_int_equal(write(fd, "y", 1), 1);
		close(fd);
	}
	assert_false(ready(client, POLLIN, BLOCK_MS));
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
	assert_true(connects(bench_ns, "127.98.109.2:80"));
}

static uint64_t refused(const struct bm_nft *nft)
{
	struct bm_error err = {};
	uint64_t packets = UINT64_MAX;

	ok(bm_nft_refused(nft, &packets, &err), &err);
	return packets;
}

/* Each table counts what it refuses itself. */
static void test_refused(void **state)
{
	autoclose server = serve(host_ns, HOST4 ":80/udp");
	struct bm_nft link = bm_link_nft(7);
	struct bm_error err = {};
	uint64_t packets = 0;

	(void)state;
	assert_int_equal(bm_nft_refused(NFT(bench_ns), &packets, &err), -ENOENT);
	err = (struct bm_error){};
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	grant(bench_ns, 7, HOST4 ":80/udp");
	assert_true(datagram(bench_ns, HOST4 ":80/udp", server, 10, PASS_MS));
	/* Beside what the kernel itself sends when a link comes up. */
	packets = refused(NFT(bench_ns));
	assert_false(datagram(bench_ns, HOST4 ":81/udp", server, 10, BLOCK_MS));
	assert_false(datagram(bench_ns, HOST4 ":81/udp", server, 10, BLOCK_MS));
	assert_true(refused(NFT(bench_ns)) >= packets + 2);
	assert_int_equal(refused(&link), 0);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
	assert_false(datagram(bench_ns, HOST4 ":81/udp", server, 10, BLOCK_MS));
	assert_true(refused(&link) >= 1);
	ok(bm_link_destroy(7, &err), &err);
	assert_int_equal(bm_nft_refused(&link, &packets, &err), -ENOENT);
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct bm_destination));
}

static void test_list(void **state)
{
	struct bm_destination *list = NULL, want[300], d;
	autofree char *out = NULL, *rules = NULL;
	struct bm_error err = {};
	size_t count = 0;

	(void)state;
	d = dest(WORLD4 ":80");
	assert_int_equal(bm_nft_list(NFT(bench_ns), &list, &count, &err), -ENOENT);
	err = (struct bm_error){};
	assert_int_equal(bm_nft_add(NFT(bench_ns), &d, 1, &err), -ENOENT);
	assert_non_null(strstr(err.message, "sealed4"));
	err = (struct bm_error){};
	ok(bm_nft_remove(NFT(bench_ns), &d, 1, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);

	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	ok(bm_nft_list(NFT(bench_ns), &list, &count, &err), &err);
	assert_int_equal(count, 0);
	free(list);
	for (size_t i = 0; i < 300; i++) {
		char text[64];

		snprintf(text, sizeof(text), i % 2 ? "192.0.2.1:%zu/%s" : "[2001:db8::1]:%zu/%s",
			 i + 1, i % 3 ? "tcp" : "udp");
		memset(&want[i], 0, sizeof(want[i]));
		want[i] = dest(text);
		ok(bm_nft_add(NFT(bench_ns), &want[i], 1, &err), &err);
	}
	ok(bm_nft_list(NFT(bench_ns), &list, &count, &err), &err);
	assert_int_equal(count, 300);
	qsort(list, count, sizeof(*list), compare);
	qsort(want, count, sizeof(*want), compare);
	assert_memory_equal(list, want, sizeof(want));
	free(list);
	/* A second setup begins with nothing, whatever was in the table. */
	must(bench_ns, "nft insert rule inet benchmon out accept");
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	ok(bm_nft_list(NFT(bench_ns), &list, &count, &err), &err);
	assert_int_equal(count, 0);
	free(list);
	out = output(bench_ns, "nft list chain inet benchmon out");
	assert_null(strstr(out, "\taccept\n"));
	/* What nft lists, nft reads back. */
	rules = output(bench_ns, "nft list ruleset");
	assert_int_equal(bm_write_file(AT_FDCWD, "/run/rules", O_CREAT, 0600, rules), 0);
	must(bench_ns, "nft -c -f /run/rules");
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

#define MANY 10000

/* Different ones: families, protocols, ports. */
static struct bm_destination *many(size_t count)
{
	struct bm_destination *list = calloc(count, sizeof(*list));

	assert_non_null(list);
	for (size_t i = 0; i < count; i++) {
		list[i].address[i % 2 ? 12 : 0] = 10;
		list[i].address[10] = list[i].address[11] = i % 2 ? 0xff : 1;
		list[i].address[14] = (uint8_t)(i >> 8);
		list[i].address[15] = (uint8_t)i;
		list[i].protocol = i % 3 ? IPPROTO_TCP : IPPROTO_UDP;
		list[i].port = (uint16_t)(1 + (i >> 4));
	}
	return list;
}

static void assert_has(int ns, const struct bm_destination *wanted, size_t count)
{
	autofree struct bm_destination *list = NULL;
	struct bm_error err = {};
	size_t got = 0;

	ok(bm_nft_list(NFT(ns), &list, &got, &err), &err);
	assert_int_equal(bm_destinations_sort(list, got), got);
	assert_int_equal(got, count);
	for (size_t i = 0; i < count; i++)
		assert_true(bm_destinations_have(list, got, &wanted[i]));
}

/* As many as a Bench may have, and as all may together, at once and not one by one. */
static void test_many(void **state)
{
	static const size_t counts[] = { MANY, 65536 };
	/* An emulated processor would be at the second for a minute. */
	size_t last = access("/run/vm/guest", F_OK) == 0 ? 1 : 2;
	struct bm_error err = {};

	(void)state;
	for (size_t i = 0; i < last; i++) {
		autofree struct bm_destination *list = many(counts[i]);
		size_t half = counts[i] / 2;

		ok(bm_nft_setup(NFT(bench_ns), &err), &err);
		ok(bm_nft_add(NFT(bench_ns), list, counts[i], &err), &err);
		assert_has(bench_ns, list, counts[i]);
		ok(bm_nft_add(NFT(bench_ns), list, counts[i], &err), &err);
		ok(bm_nft_remove(NFT(bench_ns), list, half, &err), &err);
		assert_has(bench_ns, list + half, counts[i] - half);
		/* Half of them aren't there any more, and the rest goes all the same. */
		ok(bm_nft_remove(NFT(bench_ns), list, counts[i], &err), &err);
		assert_has(bench_ns, NULL, 0);
		list[1] = list[0];
		ok(bm_nft_add(NFT(bench_ns), list, 2, &err), &err);
		assert_has(bench_ns, list, 1);
		ok(bm_nft_remove(NFT(bench_ns), list, 2, &err), &err);
		assert_has(bench_ns, NULL, 0);
		ok(bm_nft_add(NFT(bench_ns), NULL, 0, &err), &err);
		ok(bm_nft_remove(NFT(bench_ns), NULL, 0, &err), &err);
	}
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

/* What can't be added is refused with all that stands before and behind it. */
static void test_whole(void **state)
{
	static const char table[] =
		"table inet benchmon {\n"
		"  set sealed4 { size 5000; type ipv4_addr . inet_proto . inet_service; }\n"
		"  set sealed6 { size 4999; type ipv6_addr . inet_proto . inet_service; }\n"
		"  set listen4 { type ipv4_addr . inet_proto . inet_service; }\n"
		"  set listen6 { type ipv6_addr . inet_proto . inet_service; }\n"
		"}\n";
	autofree struct bm_destination *list = many(MANY);
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_write_file(AT_FDCWD, "/run/rules", O_CREAT | O_TRUNC, 0600, table), 0);
	must(bench_ns, "nft -f /run/rules");
	assert_int_equal(unlink("/run/rules"), 0);
	assert_int_equal(bm_nft_add(NFT(bench_ns), list, MANY, &err), -ENFILE);
	assert_non_null(strstr(err.message, "adding to set sealed6"));
	assert_has(bench_ns, NULL, 0);
	err = (struct bm_error){};
	ok(bm_nft_add(NFT(bench_ns), list + 2, MANY - 2, &err), &err);
	assert_has(bench_ns, list + 2, MANY - 2);
	assert_int_equal(bm_nft_add(NFT(bench_ns), list, 2, &err), -ENFILE);
	assert_has(bench_ns, list + 2, MANY - 2);
	err = (struct bm_error){};
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
	/* Neither is a set there by itself. */
	must(bench_ns, "nft add table inet benchmon");
	assert_int_equal(bm_nft_add(NFT(bench_ns), list, MANY, &err), -ENOENT);
	err = (struct bm_error){};
	ok(bm_nft_remove(NFT(bench_ns), list, MANY, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

/* Where this process, and what it makes, lies from now on. */
static void move_to(const char *cgroup)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s/cgroup.procs", bm_cgroup_root(), cgroup);
	assert_int_equal(bm_write_file(AT_FDCWD, path, 0, 0, "0"), 0);
}

static bool reaches(const char *cgroup, const char *text, bool wanted)
{
	bool r;

	move_to(cgroup);
	r = wanted ? connects(host_ns, text) : !blocked(host_ns, text);
	move_to("");
	return r;
}

/* In a namespace that is others' too: the Bench's sockets alone, and loopback is not its own. */
static void test_shared(void **state)
{
	static const char *const open[] = { WORLD4 ":80", HOST4 ":81", "127.0.0.1:82" };
	static const char *const dirs[] = { "nft-test", "nft-test/in" };
	struct bm_nft nft = { .netns = host_ns, .table = "benchmon-t1" };
	autoclose world = serve(world_ns, WORLD4 ":80"), inbound = -1, sniffer = -1;
	autoclose local = serve(host_ns, HOST4 ":81"), lo = serve(host_ns, "127.0.0.1:82");
	struct bm_destination granted = dest(WORLD4 ":80"), *list = NULL;
	autocgroup cgroup = BM_CGROUP_NONE;
	autofree char *rules = NULL;
	struct bm_error err = {};
	size_t count = 0;
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", bm_cgroup_root(), dirs[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	ok(bm_cgroup_open("/nft-test", &cgroup, &err), &err);
	nft.cgroup = cgroup.id;
	nft.level = cgroup.level;
	remember();
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		assert_true(reaches("/nft-test/in", open[i], true));
	ok(bm_nft_setup(&nft, &err), &err);
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		assert_false(reaches("/nft-test/in", open[i], false));
		assert_true(reaches("", open[i], true));
	}
	sniffer = sniff(world_ns, "w0", ETH_P_IP);
	move_to("/nft-test/in");
	inbound = serve(host_ns, HOST4 ":83");
	raw4(host_ns, WORLD4 ":84/udp", 0, 0);
	move_to("");
	assert_int_equal(sniffed(sniffer, 0), 0);
	assert_true(raw4(host_ns, WORLD4 ":84/udp", 0, 0));
	assert_int_equal(sniffed(sniffer, 1), 1);
	assert_true(blocked(world_ns, HOST4 ":83"));
	assert_true(blocked(host_ns, HOST4 ":83"));
	ok(bm_nft_add(&nft, &granted, 1, &err), &err);
	assert_true(reaches("/nft-test/in", open[0], true));
	assert_false(reaches("/nft-test/in", open[1], false));
	assert_false(reaches("/nft-test/in", open[2], false));
	ok(bm_nft_list(&nft, &list, &count, &err), &err);
	assert_int_equal(count, 1);
	assert_true(bm_destination_equal(list, &granted));
	free(list);
	ok(bm_nft_remove(&nft, &granted, 1, &err), &err);
	assert_false(reaches("/nft-test/in", open[0], false));
	/* Beside the table of another, and what nft lists, nft reads back. */
	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	rules = output(host_ns, "nft list ruleset");
	assert_non_null(strstr(rules, "socket cgroupv2 level 1"));
	assert_int_equal(bm_write_file(AT_FDCWD, "/run/rules", O_CREAT | O_TRUNC, 0600, rules), 0);
	must(host_ns, "nft -c -f /run/rules");
	assert_int_equal(unlink("/run/rules"), 0);
	ok(bm_nft_destroy(&nft, &err), &err);
	ok(bm_nft_destroy(&nft, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
	assert_true(reaches("/nft-test/in", open[0], true));
	assert_unchanged();
	ok(bm_cgroup_remove("/nft-test", &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),      cmocka_unit_test(test_many),
		cmocka_unit_test(test_whole),     cmocka_unit_test(test_nothing_leaves),
		cmocka_unit_test(test_discovery), cmocka_unit_test(test_router),
		cmocka_unit_test(test_fragments), cmocka_unit_test(test_no_way_in),
		cmocka_unit_test(test_refused),   cmocka_unit_test(test_endpoints),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests_name("nft", tests, make_world, NULL);
}
