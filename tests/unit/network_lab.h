/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where links and nft tables are tested, on the running kernel (root). All of it happens in network
 * namespaces without a name, and with a /run of its own: they end with this process, however it
 * ends.
 *
 *   bench, other  namespaces with nothing but loopback, as a runtime makes them
 *   host          plays the host: where the library believes to be
 *   world         198.51.100.10 and 2001:db8:1::10 beyond the host's uplink "up0"
 */
#ifndef BENCHMON_NETWORK_LAB_H
#define BENCHMON_NETWORK_LAB_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "network/link.h"
#include "network/nft.h"

/* The table of a namespace that is all a Bench's. */
#define NFT(ns) (&(struct bm_nft){ .netns = (ns) })

#define PASS_MS 5000 /* an emulated kernel is slow */
#define BLOCK_MS 400
#define EVENT_MS 30000 /* for what the kernel does when it gets to it */
#define COMMAND_MS 60000
#define WORLD4 "198.51.100.10"
#define WORLD6 "[2001:db8:1::10]"
#define HOST4 "198.51.100.1"

static int host_ns = -1, bench_ns, other_ns, world_ns;

static inline void enter(int ns)
{
	assert_int_equal(setns(ns, CLONE_NEWNET), 0);
}

/* Runs one command, its words separated by blanks, in a namespace; its exit status. */
static inline int run(int ns, const char *command, char **ret_out, char **ret_err)
{
	char words[512], *save = NULL, *word;
	const char *argv[24] = {};
	int status = 0, r;

	assert_true(snprintf(words, sizeof(words), "%s", command) < (int)sizeof(words));
	word = strtok_r(words, " ", &save);
	for (size_t i = 0; word; i++) {
		assert_true(i < 23);
		argv[i] = word;
		word = strtok_r(NULL, " ", &save);
	}
	enter(ns);
	r = bm_run(argv, COMMAND_MS, &status, ret_out, ret_err);
	enter(host_ns);
	if (r < 0)
		fail_msg("%s: %s", command, strerror(-r));
	return status;
}

/* What a command that must succeed has to say; the caller's. */
static inline char *output(int ns, const char *command)
{
	autofree char *out = NULL, *err = NULL;

	if (run(ns, command, &out, &err) != 0)
		fail_msg("%s: %s", command, err);
	return TAKE_PTR(out);
}

/* Commands that must succeed, with ";" between them. */
__attribute__((format(printf, 2, 3))) static inline void must(int ns, const char *fmt, ...)
{
	char text[1024], *rest = text, *command;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	while ((command = strsep(&rest, ";")))
		free(output(ns, command));
}

/* Below /proc/sys/net. */
static inline void set_sysctl(int ns, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	enter(ns);
	assert_int_equal(bm_write_file(AT_FDCWD, path, 0, 0, value), 0);
	enter(host_ns);
}

static inline void ok(int r, const struct bm_error *err)
{
	if (r < 0)
		fail_msg("%d %s; %s", r, err->message, err->remedy);
}

static inline struct bm_destination dest(const char *text)
{
	struct bm_error err = {};
	struct bm_destination d;

	ok(bm_destination_parse(text, &d, &err), &err);
	return d;
}

static inline socklen_t sockaddr_of(const struct bm_destination *d, struct sockaddr_storage *ret)
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

static inline int open_socket(int ns, int family, int type, int protocol)
{
	int fd;

	enter(ns);
	fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	enter(host_ns);
	assert_true(fd >= 0);
	return fd;
}

static inline int serve(int ns, const char *text)
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

static inline bool ready(int fd, short events, int ms)
{
	struct pollfd polled = { fd, events, 0 };

	return poll(&polled, 1, ms) == 1;
}

/* A connected socket, or -1. */
static inline int dial(int ns, const char *text, int ms)
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

static inline bool connects(int ns, const char *text)
{
	autoclose fd = dial(ns, text, PASS_MS);

	return fd >= 0;
}

static inline bool blocked(int ns, const char *text)
{
	autoclose fd = dial(ns, text, BLOCK_MS);

	return fd < 0;
}

/* Sends len bytes by UDP, and tells whether they arrived at the server. */
static inline bool datagram(int ns, const char *text, int server, size_t len, int ms)
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
static inline int sniff(int ns, const char *interface, uint16_t protocol)
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

/*
 * Packets that came in since, but for ARP and neighbour discovery, which may delay the wanted ones:
 * its first question can be lost while the link comes up, and is repeated a second later. protocol:
 * those of it alone, of IPv4; 0 all.
 */
static inline int sniffed_of(int fd, int want, uint8_t protocol)
{
	struct sockaddr_ll from;
	uint8_t data[2048];
	int count = 0;

	while (ready(fd, POLLIN, count < want ? PASS_MS : BLOCK_MS)) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &len);
		bool nd;

		if (n < 0 || from.sll_pkttype == PACKET_OUTGOING ||
		    from.sll_protocol == htons(ETH_P_ARP))
			continue;
		nd = from.sll_protocol == htons(ETH_P_IPV6) && n > 40 &&
		     data[6] == IPPROTO_ICMPV6 && (data[40] == 135 || data[40] == 136);
		count += !nd && (!protocol || (n > 9 && data[9] == protocol));
	}
	return count;
}

static inline int sniffed(int fd, int want)
{
	return sniffed_of(fd, want, 0);
}

static inline void grant(int ns, uint32_t bench, const char *text)
{
	struct bm_destination d = dest(text);
	struct bm_nft link = bm_link_nft(bench);
	struct bm_error err = {};

	ok(bm_link_setup(ns, bench, &d, 1, &err), &err);
	ok(bm_nft_add(&link, &d, 1, &err), &err);
	ok(bm_nft_add(NFT(ns), &d, 1, &err), &err);
}

/* The event that a condition waits for: it is asked again at each message of the groups. */
static inline void await(int ns, uint32_t groups, bool (*happened)(int, const char *),
			 const char *interface)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = groups };
	autoclose events = open_socket(ns, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	static char message[8192];

	assert_int_equal(bind(events, (struct sockaddr *)&address, sizeof(address)), 0);
	while (!happened(ns, interface)) {
		if (!ready(events, POLLIN, EVENT_MS))
			fail_msg("%s: nothing happened", interface);
		while (recv(events, message, sizeof(message), 0) > 0)
			;
	}
}

static inline bool gone(int ns, const char *interface)
{
	bool found;

	enter(ns);
	found = if_nametoindex(interface) != 0;
	enter(host_ns);
	return !found;
}

/* An interface that was set up without a peer says so when the kernel gets to it. */
static inline bool without_carrier(int ns, const char *interface)
{
	autofree char *link = NULL;
	char command[128];

	snprintf(command, sizeof(command), "ip -o link show %s", interface);
	link = output(ns, command);
	return strstr(link, "state LOWERLAYERDOWN");
}

/* Its route is the last thing that an interface gets after it was set up. */
static inline bool has_link_local(int ns, const char *interface)
{
	autofree char *routes = NULL;
	char command[128];

	snprintf(command, sizeof(command), "ip -6 route show table local dev %s", interface);
	routes = output(ns, command);
	return strstr(routes, "local fe80:");
}

/* Everything that the library may change on the host, as text. */
static inline void snapshot(char *buf, size_t size)
{
	static const char *const commands[] = {
		"ip -o link",
		"ip addr",
		"ip route show table all",
		"ip -6 route show table all",
		"ip rule",
		"nft -s list ruleset",
		"find /run/benchmon/network",
		"grep -rs . /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf",
	};
	size_t len = 0;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		autofree char *out = NULL, *err = NULL;

		/* Not every sysctl can be read. */
		if (run(host_ns, commands[i], &out, &err) != 0 && strncmp(commands[i], "grep", 4))
			fail_msg("%s: %s", commands[i], err);
		assert_true(strlen(out) < 65536 - 1); /* bm_run() would cut it */
		len += (size_t)snprintf(buf + len, size - len, "%s", out);
		assert_true(len < size);
	}
	assert_non_null(strstr(buf, "/proc/sys/net/ipv6/conf/up0/forwarding:"));
}

static char before[1 << 19], after[1 << 19];

/* The differing lines tell more than "not equal". */
static inline void assert_unchanged(void)
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

static inline void remember(void)
{
	snapshot(before, sizeof(before));
}

/* The first one is the host's. */
static inline int new_namespace(void)
{
	int fd;

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	if (host_ns < 0)
		host_ns = fd;
	must(fd, "ip link set lo up");
	return fd;
}

static inline int make_world(void **state)
{
	struct bm_error err = {};

	(void)state;
	if (geteuid() != 0) {
		print_error("network namespaces need root\n");
		return -1;
	}
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("none", "/run", "tmpfs", 0, "mode=755"), 0);
	new_namespace();
	bench_ns = new_namespace();
	other_ns = new_namespace();
	world_ns = new_namespace();
	must(world_ns, "ip link add w0 type veth peer name up0 netns /proc/%d/fd/%d", getpid(),
	     host_ns);
	must(world_ns, "ip link set w0 up; ip addr add 198.51.100.10/24 dev w0; "
		       "ip addr add 203.0.113.1/24 dev lo; "
		       "ip -6 addr add 2001:db8:1::10/64 dev w0 nodad");
	must(host_ns, "ip link set up0 up; ip addr add 198.51.100.1/24 dev up0; "
		      "ip -6 addr add 2001:db8:1::1/64 dev up0 nodad; "
		      "ip route add default via 198.51.100.10");
	set_sysctl(host_ns, "ipv4/ip_forward", "0");
	set_sysctl(host_ns, "ipv6/conf/all/forwarding", "0");
	await(world_ns, RTMGRP_IPV6_ROUTE, has_link_local, "w0");
	await(host_ns, RTMGRP_IPV6_ROUTE, has_link_local, "up0");
	/* The first call makes directories that stay, empty. */
	ok(bm_link_destroy(1, &err), &err);
	return 0;
}

#endif
