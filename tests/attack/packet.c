// SPDX-License-Identifier: GPL-2.0-only
/* Packets that no hook of connect or sendmsg sees as they leave, and other protocols. */
#include "net.h"

#include <stdlib.h>
#include <string.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <net/ethernet.h>
#include <unistd.h>

#include <linux/ipv6.h>
#include <linux/seg6.h>

#define PROTO_UDPLITE 136

int probe_udplite(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_DGRAM, PROTO_UDPLITE);

	if (fd < 0)
		return errno;
	if (!strcmp(args[2], "sendto"))
		return sendto(fd, "x", 1, 0, (struct sockaddr *)&ss, len) < 0 ? net_errno()
									      : answered(fd);
	return connect(fd, (struct sockaddr *)&ss, len) < 0 ? net_errno() : said(fd);
}

int probe_ping(char **args)
{
	struct icmphdr echo = { .type = ICMP_ECHO };
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], "0");
	int fd = socket_to(&ss, SOCK_DGRAM, IPPROTO_ICMP);

	if (fd < 0)
		return errno;
	return sendto(fd, &echo, sizeof(echo), 0, (struct sockaddr *)&ss, len) < 0 ? net_errno()
										   : answered(fd);
}

int probe_ping6(char **args)
{
	struct icmp6_hdr echo = { .icmp6_type = ICMP6_ECHO_REQUEST };
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], "0");
	int fd = socket_to(&ss, SOCK_DGRAM, IPPROTO_ICMPV6);

	if (fd < 0)
		return errno;
	return sendto(fd, &echo, sizeof(echo), 0, (struct sockaddr *)&ss, len) < 0 ? net_errno()
										   : answered(fd);
}

/* 0 when it was sent. */
int probe_raw(char **args)
{
	struct icmphdr echo = { .type = ICMP_ECHO };
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], "0");
	int fd = socket_to(&ss, SOCK_RAW, IPPROTO_ICMP);

	return outcome(fd < 0 ? -1
			      : sendto(fd, &echo, sizeof(echo), 0, (struct sockaddr *)&ss, len));
}

int probe_packet(char **args)
{
	(void)args;
	return outcome(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP)));
}

/* A byte with ancillary data. */
static int send_beside(int fd, struct sockaddr_storage *ss, socklen_t len, int level, int type,
		       const void *data, size_t size)
{
	char control[CMSG_SPACE(64)] __attribute__((aligned(8))) = {};
	struct cmsghdr *head = (struct cmsghdr *)control;
	struct iovec iov = { "x", 1 };
	struct msghdr msg = { .msg_name = ss,
			      .msg_namelen = len,
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = CMSG_SPACE(size) };

	head->cmsg_level = level;
	head->cmsg_type = type;
	head->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(head), data, size);
	return outcome(sendmsg(fd, &msg, 0));
}

/* 0 when it was sent: where a source route leads, nothing needs to answer. */
static int send_with(char **args, const char *beside, const unsigned char *option, socklen_t size)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_DGRAM, 0);

	if (fd < 0)
		return setup("socket");
	if (beside)
		return send_beside(fd, &ss, len, IPPROTO_IP, IP_RETOPTS, option, size);
	if (setsockopt(fd, IPPROTO_IP, IP_OPTIONS, option, size) < 0)
		return errno;
	return outcome(sendto(fd, "x", 1, 0, (struct sockaddr *)&ss, len));
}

int probe_route(char **args)
{
	unsigned char route[] = { IPOPT_NOP, IPOPT_LSRR, 7, 4, 0, 0, 0, 0 };

	return inet_pton(AF_INET, args[2], route + 4) == 1
		       ? send_with(args, args[3], route, sizeof(route))
		       : setup("HOP");
}

int probe_record(char **args)
{
	unsigned char record[] = { IPOPT_NOP, IPOPT_RR, 7, 4, 0, 0, 0, 0 };

	return send_with(args, args[2], record, sizeof(record));
}

/* Beside the datagram the kernel takes Mobile IPv6's header, as a socket option a segment route. */
int probe_rthdr(char **args)
{
	struct {
		struct ipv6_sr_hdr head;
		struct in6_addr segments[2];
	} route = { .head = { .hdrlen = 4, .type = 4, .segments_left = 1, .first_segment = 1 } };
	struct rt2_hdr mobile = { .rt_hdr = { .hdrlen = 2, .type = 2, .segments_left = 1 } };
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_DGRAM, 0);

	if (fd < 0 || inet_pton(AF_INET6, args[2], &mobile.addr) != 1)
		return setup("HOP");
	if (args[3])
		return send_beside(fd, &ss, len, IPPROTO_IPV6, IPV6_RTHDR, &mobile, sizeof(mobile));
	route.segments[0] = ((struct sockaddr_in6 *)&ss)->sin6_addr;
	route.segments[1] = mobile.addr;
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &route, sizeof(route)) < 0)
		return errno;
	return outcome(sendto(fd, "x", 1, 0, (struct sockaddr *)&ss, len));
}
