// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links and nft tables on the running kernel (root). All of it happens in network namespaces
 * without a name, and with a /run of its own: they end with this process, however it ends.
 *
 *   bench, other  namespaces with nothing but loopback, as a runtime makes them
 *   host          plays the host: where the library believes to be
 *   world         198.51.100.10 and 2001:db8:1::10 beyond the host's uplink "up0"
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "network/link.h"
#include "network/nft.h"

#define PASS_MS 5000 /* an emulated kernel is slow */
#define BLOCK_MS 400
#define WORLD4 "198.51.100.10"
#define WORLD6 "[2001:db8:1::10]"
#define HOST4 "198.51.100.1"

static int host_ns, bench_ns, other_ns, world_ns;

static void enter(int ns)
{
	assert_int_equal(setns(ns, CLONE_NEWNET), 0);
}

/* A shell command in a namespace; its exit status. */
__attribute__((format(printf, 2, 3))) static int sh(int ns, const char *fmt, ...)
{
	char command[1024];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	enter(ns);
	status = system(command);
	enter(host_ns);
	return status;
}

static void ok(int r, const struct bm_error *err)
{
	if (r < 0)
		fail_msg("%d %s; %s", r, err->message, err->remedy);
}

static struct bm_destination dest(const char *text)
{
	struct bm_error err = {};
	struct bm_destination d;

	ok(bm_destination_parse(text, &d, &err), &err);
	return d;
}

static socklen_t sockaddr_of(const struct bm_destination *d, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *in = (struct sockaddr_in *)ret;

	memset(ret, 0, sizeof(*ret));
	if (bm_destination_is_v4(d)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(d->port);
		memcpy(&in->sin_addr, d->address + 12, 4);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(d->port);
	memcpy(&in6->sin6_addr, d->address, 16);
	return sizeof(*in6);
}

static int open_socket(int ns, int family, int type, int protocol)
{
	int fd;

	enter(ns);
	fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	enter(host_ns);
	assert_true(fd >= 0);
	return fd;
}

static int serve(int ns, const char *text)
{
	struct bm_destination d = dest(text);
	struct sockaddr_storage address;
	socklen_t len = sockaddr_of(&d, &address);
	bool tcp = d.protocol == IPPROTO_TCP;
	int fd = open_socket(ns, address.ss_family, tcp ? SOCK_STREAM : SOCK_DGRAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	if (tcp)
		assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static bool ready(int fd, short events, int ms)
{
	struct pollfd polled = { fd, events, 0 };

	return poll(&polled, 1, ms) == 1;
}

/* A connected socket, or -1. */
static int dial(int ns, const char *text, int ms)
{
	struct bm_destination d = dest(text);
	struct sockaddr_storage address;
	socklen_t len = sockaddr_of(&d, &address), size = sizeof(int);
	autoclose fd = open_socket(ns, address.ss_family, SOCK_STREAM, 0);
	int error = 0;

	if (connect(fd, (struct sockaddr *)&address, len) < 0 && errno != EINPROGRESS)
		return -1;
	if (!ready(fd, POLLOUT, ms) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ||
	    error)
		return -1;
	return TAKE_FD(fd);
}

static bool connects(int ns, const char *text)
{
	autoclose fd = dial(ns, text, PASS_MS);

	return fd >= 0;
}

static bool blocked(int ns, const char *text)
{
	autoclose fd = dial(ns, text, BLOCK_MS);

	return fd < 0;
}

/* Sends len bytes by UDP, and tells whether they arrived at the server. */
static bool datagram(int ns, const char *text, int server, size_t len, int ms)
{
	struct bm_destination d = dest(text);
	struct sockaddr_storage address;
	socklen_t size = sockaddr_of(&d, &address);
	autoclose fd = open_socket(ns, address.ss_family, SOCK_DGRAM, 0);
	static char data[8192], got[8192];

	sendto(fd, data, len, 0, (struct sockaddr *)&address, size);
	return ready(server, POLLIN, ms) && recv(server, got, sizeof(got), 0) == (ssize_t)len;
}

/* Sees what arrives at an interface, whatever its addresses. */
static int sniff(int ns, const char *interface, uint16_t protocol)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(protocol) };
	/* With a protocol it would see every interface until it is bound. */
	int fd = open_socket(ns, AF_PACKET, SOCK_DGRAM, 0);

	enter(ns);
	address.sll_ifindex = (int)if_nametoindex(interface);
	enter(host_ns);
	assert_true(address.sll_ifindex > 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Packets that came in since, but for ARP and neighbour discovery. */
static int sniffed(int fd)
{
	struct sockaddr_ll from;
	uint8_t data[2048];
	int count = 0;

	while (ready(fd, POLLIN, BLOCK_MS)) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &len);
		bool nd;

		if (n < 0 || from.sll_pkttype == PACKET_OUTGOING ||
		    from.sll_protocol == htons(ETH_P_ARP))
			continue;
		nd = from.sll_protocol == htons(ETH_P_IPV6) && n > 40 &&
		     data[6] == IPPROTO_ICMPV6 && (data[40] == 135 || data[40] == 136);
		count += !nd;
	}
	return count;
}

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

/* Everything that the library may change on the host, as text. */
static void snapshot(char *buf, size_t size)
{
	FILE *f;
	size_t n;

	enter(host_ns);
	f = popen("ip -o link; ip addr; ip route show table all; ip -6 route show table all; "
		  "ip rule; nft -s list ruleset; grep -r . /proc/sys/net/ipv4/conf "
		  "/proc/sys/net/ipv6/conf 2>/dev/null; find /run/benchmon/network",
		  "r");
	assert_non_null(f);
	n = fread(buf, 1, size - 1, f);
	buf[n] = '\0';
	pclose(f);
	assert_true(n < size - 1);
}

static char before[1 << 20], after[1 << 20];

/* The differing lines tell more than "not equal". */
static void assert_unchanged(void)
{
	const char *a = before, *b = after;

	snapshot(after, sizeof(after));
	if (strcmp(before, after) == 0)
		return;
	while (*a && *a == *b) {
		a++;
		b++;
	}
	while (a > before && a[-1] != '\n') {
		a--;
		b--;
	}
	fail_msg("left behind:\n-%.200s\n+%.200s", a, b);
}

static void remember(void)
{
	snapshot(before, sizeof(before));
}

static int new_namespace(void)
{
	int fd;

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(system("ip link set lo up"), 0);
	return fd;
}

static int make_world(void **state)
{
	struct bm_error err = {};

	(void)state;
	if (geteuid() != 0) {
		print_error("test_network: needs root\n");
		return -1;
	}
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("none", "/run", "tmpfs", 0, "mode=755"), 0);
	bench_ns = new_namespace();
	other_ns = new_namespace();
	world_ns = new_namespace();
	host_ns = new_namespace();
	assert_int_equal(sh(world_ns, "ip link add w0 type veth peer name up0 netns /proc/%d/fd/%d",
			    getpid(), host_ns),
			 0);
	assert_int_equal(sh(world_ns, "ip link set w0 up; ip addr add 198.51.100.10/24 dev w0; "
				      "ip addr add 203.0.113.1/24 dev lo; "
				      "ip -6 addr add 2001:db8:1::10/64 dev w0 nodad"),
			 0);
	assert_int_equal(sh(host_ns, "ip link set up0 up; ip addr add 198.51.100.1/24 dev up0; "
				     "ip -6 addr add 2001:db8:1::1/64 dev up0 nodad; "
				     "ip route add default via 198.51.100.10; "
				     "echo 0 > /proc/sys/net/ipv4/ip_forward; "
				     "echo 0 > /proc/sys/net/ipv6/conf/all/forwarding; "
				     "sleep 2"),
			 0);
	/* The first call makes directories that stay, empty. */
	ok(bm_link_destroy(1, &err), &err);
	return 0;
}

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
	ok(bm_link_setup(bench_ns, 7, &d, &err), &err);
	ok(bm_link_foreign(bench_ns, 7, &foreign, &err), &err);
	assert_false(foreign);
	ok(bm_link_foreign(bench_ns, 8, &foreign, &err), &err);
	assert_true(foreign);
	ok(bm_link_destroy(7, &err), &err);
}

static void test_nothing_leaves(void **state)
{
	struct bm_destination d4 = dest(HOST4 ":80"), d6 = dest("[2001:db8:1::1]:80");
	autoclose server = serve(host_ns, HOST4 ":80/udp"), sniffer = -1;
	autoclose listener = serve(host_ns, HOST4 ":80");
	struct bm_error err = {};

	(void)state;
	remember();
	ok(bm_nft_setup(bench_ns, &err), &err);
	ok(bm_link_setup(bench_ns, 7, &d4, &err), &err);
	ok(bm_link_setup(bench_ns, 7, &d6, &err), &err);
	sniffer = sniff(host_ns, "bm7", ETH_P_ALL);
	assert_true(blocked(bench_ns, HOST4 ":80"));
	assert_true(blocked(bench_ns, "[2001:db8:1::1]:80"));
	assert_false(datagram(bench_ns, HOST4 ":80/udp", server, 10, BLOCK_MS));
	assert_int_not_equal(sh(bench_ns, "ping -c1 -W1 " HOST4 " >/dev/null 2>&1"), 0);
	raw4(bench_ns, HOST4 ":80/udp", 0, 0);
	raw6(bench_ns, "[2001:db8:1::1]:80/udp", IPPROTO_UDP, 64, 0);
	raw6(bench_ns, "[2001:db8:1::1]:80/udp", IPPROTO_ICMPV6, 255, 128);
	assert_int_equal(sniffed(sniffer), 0);
	/* Loopback is the Bench's own. */
	{
		autoclose local = serve(bench_ns, "127.0.0.1:5000");

		assert_true(connects(bench_ns, "127.0.0.1:5000"));
	}
	ok(bm_link_destroy(7, &err), &err);
	assert_unchanged();
	ok(bm_nft_destroy(bench_ns, &err), &err);
	assert_int_equal(sh(bench_ns, "test -z \"$(nft list ruleset)\""), 0);
}

/* Neighbour discovery passes on the link, and only there. */
static void test_discovery(void **state)
{
	struct bm_destination d = dest("[2001:db8:1::1]:80");
	autoclose sniffer = -1;
	struct bm_error err = {};

	(void)state;
	ok(bm_nft_setup(bench_ns, &err), &err);
	ok(bm_link_setup(bench_ns, 7, &d, &err), &err);
	sniffer = sniff(host_ns, "bm7", ETH_P_ALL);
	assert_false(raw6(bench_ns, "[2001:db8:1::10]:1", IPPROTO_ICMPV6, 255, 135));
	assert_false(raw6(bench_ns, "[2001:db8:1::10]:1", IPPROTO_ICMPV6, 255, 136));
	assert_false(raw6(bench_ns, "[fd62:656e:6368::e]:1", IPPROTO_ICMPV6, 254, 135));
	assert_false(raw6(bench_ns, "[fd62:656e:6368::e]:1", IPPROTO_ICMPV6, 255, 134));
	assert_false(raw6(bench_ns, "[fd62:656e:6368::e]:1", IPPROTO_ICMPV6, 255, 137));
	assert_true(raw6(bench_ns, "[fd62:656e:6368::e]:1", IPPROTO_ICMPV6, 255, 135));
	assert_int_equal(sniffed(sniffer), 0);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(bench_ns, &err), &err);
}

static void grant(int ns, uint32_t bench, const char *text)
{
	struct bm_destination d = dest(text);
	struct bm_error err = {};

	ok(bm_link_setup(ns, bench, &d, &err), &err);
	ok(bm_nft_add(ns, &d, &err), &err);
}

static void withdraw(int ns, const char *text)
{
	struct bm_destination d = dest(text);
	struct bm_error err = {};

	ok(bm_nft_remove(ns, &d, &err), &err);
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
	ok(bm_nft_setup(bench_ns, &err), &err);
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
	assert_int_equal(sh(host_ns, "ip neigh flush dev bm7; ip -6 neigh flush dev bm7"), 0);
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
	ok(bm_nft_destroy(bench_ns, &err), &err);
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
	assert_int_equal(sh(host_ns, "echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter"), 0);
	remember();
	use(host_ns, HOST4);
	use(world_ns, WORLD4);
	assert_unchanged();
	assert_int_equal(sh(host_ns, "echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter"), 0);
}

/* The host forwards already, for a container engine: nothing is turned off under its feet. */
static void test_beyond_forwarding_host(void **state)
{
	(void)state;
	assert_int_equal(sh(host_ns, "echo 1 >/proc/sys/net/ipv4/ip_forward"), 0);
	remember();
	use(world_ns, WORLD4);
	assert_unchanged();
	assert_int_equal(sh(host_ns, "echo 0 >/proc/sys/net/ipv4/ip_forward"), 0);
}

static void test_beyond_v6(void **state)
{
	struct bm_destination d = dest(WORLD6 ":8080");
	struct bm_error err = {};

	(void)state;
	remember();
	assert_int_equal(bm_link_setup(bench_ns, 7, &d, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.message, "does not forward IPv6"));
	assert_non_null(strstr(err.remedy, "net.ipv6.conf.up0.accept_ra=2"));
	assert_unchanged();
	assert_int_equal(sh(host_ns, "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding"), 0);
	remember();
	use(world_ns, WORLD6);
	assert_unchanged();
	assert_int_equal(sh(host_ns, "echo 0 >/proc/sys/net/ipv6/conf/all/forwarding"), 0);
}

/* What was off for the world stays off while a Bench is forwarded, and Benches do not meet. */
static void test_forwarding_for_benches_only(void **state)
{
	autoclose w = serve(world_ns, WORLD4 ":8080"), sniffer = -1;
	autoclose b = serve(other_ns, "127.0.0.1:1");
	struct bm_error err = {};

	(void)state;
	remember();
	ok(bm_nft_setup(bench_ns, &err), &err);
	ok(bm_nft_setup(other_ns, &err), &err);
	grant(bench_ns, 7, WORLD4 ":8080");
	grant(other_ns, 8, WORLD4 ":8080");
	assert_true(connects(bench_ns, WORLD4 ":8080"));
	assert_true(connects(other_ns, WORLD4 ":8080"));
	/* With the second layer gone, the host's table still holds. */
	ok(bm_nft_destroy(bench_ns, &err), &err);
	ok(bm_nft_destroy(other_ns, &err), &err);
	sniffer = sniff(other_ns, "eth0", ETH_P_IP);
	assert_true(blocked(bench_ns, "10.209.0.17:80"));
	assert_int_equal(sh(world_ns, "ip route add 10.209.0.0/16 via 198.51.100.1"), 0);
	assert_true(blocked(world_ns, "10.209.0.17:80"));
	assert_int_equal(sh(world_ns, "ip route del 10.209.0.0/16 via 198.51.100.1"), 0);
	assert_int_equal(sniffed(sniffer), 0);

	/* Forwarding of up0 is on now, but the world gets nowhere with it. */
	assert_int_equal(sh(host_ns, "grep -q 1 /proc/sys/net/ipv4/conf/up0/forwarding"), 0);
	assert_int_equal(sh(host_ns, "ip link add d0 type veth peer name d9; "
				     "ip link set d0 up; ip link set d9 up; "
				     "ip addr add 203.0.114.1/24 dev d0; "
				     "ip neigh add 203.0.114.9 lladdr 02:00:00:00:00:09 dev d0"),
			 0);
	close(sniffer);
	sniffer = sniff(host_ns, "d9", ETH_P_IP);
	assert_int_equal(sh(world_ns, "ip route add 203.0.114.0/24 via 198.51.100.1"), 0);
	assert_true(blocked(world_ns, "203.0.114.9:80"));
	assert_int_equal(sniffed(sniffer), 0);
	assert_int_equal(sh(world_ns, "ip route del 203.0.114.0/24 via 198.51.100.1"), 0);
	assert_int_equal(sh(host_ns, "ip link del d0"), 0);

	/* The first to go leaves the other one's way open. */
	ok(bm_link_destroy(7, &err), &err);
	assert_true(connects(other_ns, WORLD4 ":8080"));
	ok(bm_link_destroy(8, &err), &err);
	ok(bm_link_destroy(8, &err), &err);
	assert_unchanged();
}

static void test_fragments(void **state)
{
	static const char *const sealed4 = WORLD4 ":8080/udp";
	static const char *const sealed6 = "[2001:db8:1::1]:8080/udp";
	autoclose sniffer = -1;
	struct bm_error err = {};

	(void)state;
	ok(bm_nft_setup(bench_ns, &err), &err);
	grant(bench_ns, 7, sealed4);
	grant(bench_ns, 7, sealed6);
	sniffer = sniff(host_ns, "bm7", ETH_P_ALL);
	assert_true(raw4(bench_ns, sealed4, 0, 0));
	assert_true(raw4(bench_ns, sealed4, 0x4000, 0)); /* don't fragment */
	assert_true(raw6(bench_ns, sealed6, IPPROTO_UDP, 64, 0));
	assert_int_equal(sniffed(sniffer), 3);
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
	assert_int_equal(sniffed(sniffer), 0);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(bench_ns, &err), &err);
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
	ok(bm_nft_setup(bench_ns, &err), &err);
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
	assert_int_equal(sniffed(sniffer), 0);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(bench_ns, &err), &err);
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct bm_destination));
}

static void test_list(void **state)
{
	struct bm_destination *list = NULL, want[300], d;
	struct bm_error err = {};
	size_t count = 0;

	(void)state;
	d = dest(WORLD4 ":80");
	assert_int_equal(bm_nft_list(bench_ns, &list, &count, &err), -ENOENT);
	err = (struct bm_error){};
	assert_int_equal(bm_nft_add(bench_ns, &d, &err), -ENOENT);
	assert_non_null(strstr(err.message, "sealed4"));
	err = (struct bm_error){};
	ok(bm_nft_remove(bench_ns, &d, &err), &err);
	ok(bm_nft_destroy(bench_ns, &err), &err);

	ok(bm_nft_setup(bench_ns, &err), &err);
	ok(bm_nft_list(bench_ns, &list, &count, &err), &err);
	assert_int_equal(count, 0);
	free(list);
	for (size_t i = 0; i < 300; i++) {
		char text[64];

		snprintf(text, sizeof(text), i % 2 ? "192.0.2.1:%zu/%s" : "[2001:db8::1]:%zu/%s",
			 i + 1, i % 3 ? "tcp" : "udp");
		memset(&want[i], 0, sizeof(want[i]));
		want[i] = dest(text);
		ok(bm_nft_add(bench_ns, &want[i], &err), &err);
	}
	ok(bm_nft_list(bench_ns, &list, &count, &err), &err);
	assert_int_equal(count, 300);
	qsort(list, count, sizeof(*list), compare);
	qsort(want, count, sizeof(*want), compare);
	assert_memory_equal(list, want, sizeof(want));
	free(list);
	/* A second setup begins with nothing, whatever was in the table. */
	assert_int_equal(sh(bench_ns, "nft insert rule inet benchmon out accept"), 0);
	ok(bm_nft_setup(bench_ns, &err), &err);
	ok(bm_nft_list(bench_ns, &list, &count, &err), &err);
	assert_int_equal(count, 0);
	free(list);
	assert_int_equal(sh(bench_ns, "! nft list chain inet benchmon out | grep -qx '\\s*accept'"),
			 0);
	/* What nft lists, nft reads back. */
	assert_int_equal(sh(bench_ns, "nft list ruleset >/run/rules && nft -c -f /run/rules"), 0);
	ok(bm_nft_destroy(bench_ns, &err), &err);
	ok(bm_nft_destroy(bench_ns, &err), &err);
}

static void test_refusals(void **state)
{
	struct bm_destination d = dest(WORLD4 ":80"), nowhere = dest("203.0.113.9:80");
	struct bm_error err = {};

	(void)state;
	remember();
	/* 32775 % 32768 is 7 */
	ok(bm_link_setup(bench_ns, 7, &d, &err), &err);
	assert_int_equal(bm_link_setup(other_ns, 32775, &d, &err), -EADDRINUSE);
	assert_non_null(
		strstr(err.message, "10.209.0.14/31, wanted for bm32775, is in use by bm7"));
	err = (struct bm_error){};
	assert_int_equal(bm_link_setup(other_ns, 7, &d, &err), -EEXIST);
	assert_non_null(strstr(err.message, "another network namespace"));
	err = (struct bm_error){};
	nowhere = dest("10.209.0.15:80");
	assert_int_equal(bm_link_setup(other_ns, 9, &nowhere, &err), -EPERM);
	assert_non_null(strstr(err.message, "address of a Bench"));
	err = (struct bm_error){};
	ok(bm_link_destroy(7, &err), &err);
	assert_unchanged();

	assert_int_equal(sh(host_ns, "ip link add bm7 type veth peer name d1; "
				     "ip addr add 10.209.0.1/24 dev d1; ip link set d1 up; "
				     "ip route del default"),
			 0);
	remember();
	assert_int_equal(bm_link_setup(bench_ns, 7, &d, &err), -EEXIST);
	assert_non_null(strstr(err.message, "bm7 that benchmon did not make"));
	err = (struct bm_error){};
	assert_int_equal(bm_link_destroy(7, &err), -EEXIST);
	err = (struct bm_error){};
	assert_int_equal(bm_link_setup(bench_ns, 8, &d, &err), -EADDRINUSE);
	assert_non_null(strstr(err.message, "by d1"));
	err = (struct bm_error){};
	nowhere = dest("203.0.113.9:80");
	assert_int_equal(bm_link_setup(bench_ns, 300, &nowhere, &err), -ENETUNREACH);
	assert_non_null(strstr(err.message, "no route to 203.0.113.9:80/tcp"));
	err = (struct bm_error){};
	nowhere = dest("198.51.100.255:80");
	assert_int_equal(bm_link_setup(bench_ns, 300, &nowhere, &err), -EPERM);
	err = (struct bm_error){};
	assert_int_equal(sh(other_ns, "ip link add eth0 type veth peer name d1"), 0);
	assert_int_equal(bm_link_setup(other_ns, 300, &d, &err), -EEXIST);
	assert_non_null(strstr(err.message, "already has an interface eth0"));
	assert_unchanged();
	assert_int_equal(sh(other_ns, "ip link del eth0"), 0);
	assert_int_equal(sh(host_ns, "ip link del bm7; "
				     "ip route add default via 198.51.100.10"),
			 0);
}

/* Another program turns forwarding on for good while a Bench is up. */
static void test_overtaken(void **state)
{
	struct bm_destination d = dest(WORLD4 ":80");
	struct bm_error err = {};

	(void)state;
	ok(bm_link_setup(bench_ns, 7, &d, &err), &err);
	assert_int_equal(sh(host_ns, "echo 1 >/proc/sys/net/ipv4/ip_forward"), 0);
	ok(bm_link_setup(other_ns, 8, &d, &err), &err);
	assert_int_equal(sh(host_ns, "test -z \"$(ls /run/benchmon/network/forwarding)\""), 0);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_link_destroy(8, &err), &err);
	assert_int_equal(sh(host_ns, "grep -q 1 /proc/sys/net/ipv4/conf/up0/forwarding"), 0);
	assert_int_equal(sh(host_ns, "echo 0 >/proc/sys/net/ipv4/ip_forward"), 0);
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
	enter(host_ns);
	ok(bm_link_setup(ns, 4294967295u, &d, &err), &err);
	assert_int_equal(sh(host_ns, "ip link show bm4294967295 >/dev/null"), 0);
	close(ns);
	for (int i = 0; i < 50 && sh(host_ns, "ip link show bm4294967295 >/dev/null 2>&1") == 0;
	     i++)
		usleep(100000);
	ok(bm_link_destroy(4294967295u, &err), &err);
	assert_unchanged();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_nothing_leaves),
		cmocka_unit_test(test_discovery),
		cmocka_unit_test(test_host_local),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_beyond_strict),
		cmocka_unit_test(test_beyond_forwarding_host),
		cmocka_unit_test(test_beyond_v6),
		cmocka_unit_test(test_forwarding_for_benches_only),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_no_way_in),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_vanished),
	};

	return cmocka_run_group_tests_name("network", tests, make_world, NULL);
}
