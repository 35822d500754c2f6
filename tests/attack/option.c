// SPDX-License-Identifier: GPL-2.0-only
/* Socket options that lead a packet elsewhere or make one, by the 64-bit and the 32-bit entry. */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <netinet/udp.h>

/* Below 4 GiB, where a 32-bit call can point to. */
static union {
	int number;
	unsigned char bytes[160];
	struct ip_mreqn mreqn;
	struct ip_mreq_source source;
	struct ipv6_mreq mreq6;
	struct group_req group;
	struct in6_pktinfo info;
} value;

static int set(int family, int level, int option, size_t size)
{
	int fd = socket(family, level == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM, 0);

	return fd < 0 ? setup("socket")
		      : outcome(door(SYS_setsockopt, fd, level, option, &value, size, 0));
}

static int join_mcast(const char *group, unsigned int link, bool v6)
{
	struct sockaddr_storage ss;

	/* The 32-bit form has no room before the address. */
	size_t at = is_compat() ? 4 : offsetof(struct group_req, gr_group);

	address_of(&ss, group, "0");
	value.group.gr_interface = link;
	memcpy(value.bytes + at, &ss, sizeof(ss));
	return set(v6 ? AF_INET6 : AF_INET, v6 ? IPPROTO_IPV6 : IPPROTO_IP, MCAST_JOIN_GROUP,
		   at + sizeof(ss));
}

/* WAY GROUP LINK: a membership, which the kernel reports. */
int probe_member(char **args)
{
	unsigned int link = (unsigned int)number(args[2]);
	bool v6 = strchr(args[1], ':');

	if (!strcmp(args[0], "mcast"))
		return join_mcast(args[1], link, v6);
	if (v6) {
		inet_pton(AF_INET6, args[1], &value.mreq6.ipv6mr_multiaddr);
		value.mreq6.ipv6mr_interface = link;
		return set(AF_INET6, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, sizeof(value.mreq6));
	}
	if (!strcmp(args[0], "source")) {
		inet_pton(AF_INET, args[1], &value.source.imr_multiaddr);
		inet_pton(AF_INET, "198.51.100.1", &value.source.imr_interface);
		inet_pton(AF_INET, "192.0.2.1", &value.source.imr_sourceaddr);
		return set(AF_INET, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, sizeof(value.source));
	}
	inet_pton(AF_INET, args[1], &value.mreqn.imr_multiaddr);
	value.mreqn.imr_ifindex = (int)link;
	return set(AF_INET, IPPROTO_IP, IP_ADD_MEMBERSHIP, sizeof(value.mreqn));
}

static const struct {
	const char *name;
	int family, level, option;
	size_t size;
} options[] = {
	{ "unicast-if", AF_INET, IPPROTO_IP, 50 /* IP_UNICAST_IF */, sizeof(int) },
	{ "unicast-if6", AF_INET6, IPPROTO_IPV6, 76 /* IPV6_UNICAST_IF */, sizeof(int) },
	{ "multicast-if", AF_INET, IPPROTO_IP, IP_MULTICAST_IF, sizeof(struct ip_mreqn) },
	{ "multicast-if6", AF_INET6, IPPROTO_IPV6, IPV6_MULTICAST_IF, sizeof(int) },
	{ "freebind", AF_INET, IPPROTO_IP, IP_FREEBIND, sizeof(int) },
	{ "freebind6", AF_INET6, IPPROTO_IPV6, 78 /* IPV6_FREEBIND */, sizeof(int) },
	{ "pktinfo6", AF_INET6, IPPROTO_IPV6, IPV6_PKTINFO, sizeof(struct in6_pktinfo) },
	{ "ifindex", AF_INET, SOL_SOCKET, 62 /* SO_BINDTOIFINDEX */, sizeof(int) },
	{ "mark", AF_INET, SOL_SOCKET, SO_MARK, sizeof(int) },
	{ "transparent", AF_INET, IPPROTO_IP, IP_TRANSPARENT, sizeof(int) },
	{ "repair", AF_INET, IPPROTO_TCP, 19 /* TCP_REPAIR */, sizeof(int) },
	{ "record", AF_INET, IPPROTO_IP, IP_OPTIONS, 8 },
	{ "hopopts", AF_INET6, IPPROTO_IPV6, IPV6_HOPOPTS, 8 },
	{ "dstopts", AF_INET6, IPPROTO_IPV6, IPV6_DSTOPTS, 8 },
};

/* NAME LINK: one that is valid for that link. */
int probe_option(char **args)
{
	int link = number(args[1]);

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (strcmp(options[i].name, args[0]) != 0)
			continue;
		value.number = link;
		if (strstr(args[0], "unicast-if"))
			value.number = (int)htonl((uint32_t)link);
		if (!strcmp(args[0], "multicast-if")) {
			memset(&value, 0, sizeof(value));
			value.mreqn.imr_ifindex = link;
		}
		if (!strcmp(args[0], "pktinfo6")) {
			memset(&value, 0, sizeof(value));
			value.info.ipi6_ifindex = (unsigned int)link;
		}
		if (!strcmp(args[0], "record"))
			memcpy(value.bytes, "\x01\x07\x07\x04\0\0\0\0", 8);
		if (strstr(args[0], "opts"))
			memcpy(value.bytes, "\0\0\x01\x04\0\0\0\0", 8);
		return set(options[i].family, options[i].level, options[i].option, options[i].size);
	}
	return setup("no such option");
}

/* GOOD-ADDRESS PORT SOURCE [freebind]: IPv6 lets a datagram claim to come from anywhere. */
int probe_forge(char **args)
{
	char control[CMSG_SPACE(sizeof(struct in6_pktinfo))] __attribute__((aligned(8))) = {};
	struct cmsghdr *head = (struct cmsghdr *)control;
	struct in6_pktinfo info = {};
	struct sockaddr_storage ss;
	struct iovec iov = { "x", 1 };
	struct msghdr msg = { .msg_name = &ss,
			      .msg_namelen = address_of(&ss, args[0], args[1]),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), on = 1;

	if (fd < 0 || inet_pton(AF_INET6, args[2], &info.ipi6_addr) != 1)
		return setup("SOURCE");
	if (setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on)) < 0)
		return errno;
	head->cmsg_level = IPPROTO_IPV6;
	head->cmsg_type = IPV6_PKTINFO;
	head->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(head), &info, sizeof(info));
	return outcome(sendmsg(fd, &msg, 0));
}

/* Corked to what is allowed, and then let out to what isn't; or by pieces of a larger datagram. */
int probe_cork(char **args)
{
	struct sockaddr_storage good, bad;
	socklen_t good_len = address_of(&good, args[0], args[1]);
	socklen_t bad_len = address_of(&bad, args[2], args[3]);
	int fd = socket_to(&good, SOCK_DGRAM, 0), size = 100;
	static char data[1000];

	if (fd < 0)
		return setup("socket");
	if (args[4]) {
		if (setsockopt(fd, SOL_UDP, 103 /* UDP_SEGMENT */, &size, sizeof(size)) < 0)
			return setup("UDP_SEGMENT");
		return sendto(fd, data, sizeof(data), 0, (struct sockaddr *)&bad, bad_len) < 0
			       ? net_errno()
			       : answered(fd);
	}
	if (sendto(fd, "x", 1, MSG_MORE, (struct sockaddr *)&good, good_len) < 0)
		return errno;
	/* The kernel goes on with the first address. */
	return sendto(fd, "y", 1, 0, (struct sockaddr *)&bad, bad_len) < 0 ? net_errno()
									   : answered(fd);
}

/* ADDRESS PORT: connected to what is allowed (GOOD), let go of, and connected again. */
int probe_again(char **args)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct sockaddr_storage good, bad;
	socklen_t good_len = address_of(&good, args[0], args[1]);
	socklen_t bad_len = address_of(&bad, args[2], args[3]);
	int fd = socket_to(&good, strcmp(args[4], "udp") ? SOCK_STREAM : SOCK_DGRAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&good, good_len) < 0 ||
	    connect(fd, &none, sizeof(none)) < 0)
		return setup("connect");
	return connect(fd, (struct sockaddr *)&bad, bad_len) < 0 ? net_errno() : said(fd);
}

/* ADDRESS PORT: of no family, which UDP takes for IPv4. */
int probe_unspec(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_DGRAM, 0);

	((struct sockaddr *)&ss)->sa_family = AF_UNSPEC;
	if (fd < 0)
		return setup("socket");
	return sendto(fd, "x", 1, 0, (struct sockaddr *)&ss, len) < 0 ? net_errno() : answered(fd);
}
