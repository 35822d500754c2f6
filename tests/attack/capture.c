// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes every packet that comes in on a link, whoever made it: also what belongs to no socket, and
 * what is no IP. A mark, sent by the test, stands behind all that came before it, and with it the
 * number of packets that were lost: so that "nothing came" is something that was seen.
 */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <net/ethernet.h>
#include <net/if.h>

#include <linux/if_packet.h>

#define ETHERTYPE_MARK 0x88b5 /* for local experiments (IEEE 802) */
#define ROOM (8 << 20)
#define IGMP3_REPORT 0x22
#define IGMP2_REPORT 0x16
#define IGMP1_REPORT 0x12
#define MLD1_REPORT 131
#define MLD2_REPORT 143
#define ND_SOLICIT 135
#define ND_ADVERT 136

static const char *text_of(bool v6, const unsigned char *address)
{
	static char buf[INET6_ADDRSTRLEN];

	return inet_ntop(v6 ? AF_INET6 : AF_INET, address, buf, sizeof(buf)) ?: "?";
}

/* Whom a report of group memberships tells of. */
static void note_groups(bool v6, const unsigned char *p, size_t n)
{
	size_t size = v6 ? 20 : 8, count, at = 8;

	if (*p == IGMP1_REPORT || *p == IGMP2_REPORT || *p == MLD1_REPORT) {
		if (n >= (v6 ? 24u : 8u))
			printf("report %s\n", text_of(v6, p + (v6 ? 8 : 4)));
		return;
	}
	if (n < 8 || (*p != IGMP3_REPORT && *p != MLD2_REPORT)) {
		printf("membership %d\n", *p);
		return;
	}
	count = (size_t)(p[6] << 8 | p[7]);
	for (; count && at + size <= n; count--) {
		printf("report %s\n", text_of(v6, p + at + 4));
		at += size + (size_t)(p[at + 2] << 8 | p[at + 3]) * (v6 ? 16 : 4) +
		      (size_t)p[at + 1] * 4;
	}
}

/* PROTOCOL ADDRESS NUMBER: a port, the type of an ICMP message, or nothing that is known: 0. */
static void note_packet(bool v6, int protocol, const unsigned char *to, const unsigned char *p,
			size_t n)
{
	int number = 0;

	if (protocol == IPPROTO_IGMP && n) {
		note_groups(false, p, n);
		return;
	}
	if (protocol == IPPROTO_ICMPV6 && n >= 24 && (*p == ND_SOLICIT || *p == ND_ADVERT)) {
		printf("neighbour %s\n", text_of(true, p + 8));
		return;
	}
	if (protocol == IPPROTO_ICMPV6 && n && *p >= 130 && (*p <= 132 || *p == MLD2_REPORT)) {
		note_groups(true, p, n);
		return;
	}
	if ((protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6) && n)
		number = *p;
	else if (n >= 4)
		number = p[2] << 8 | p[3];
	printf("%d %s %d\n", protocol, text_of(v6, to), number);
}

static void note4(const unsigned char *p, size_t n)
{
	size_t head = (size_t)(p[0] & 15) * 4;

	if (n < 20 || n < head)
		printf("short\n");
	else if (p[6] & 0x1f || p[7])
		printf("fragment %s\n", text_of(false, p + 16));
	else
		note_packet(false, p[9], p + 16, p + head, n - head);
}

static void note6(const unsigned char *p, size_t n)
{
	size_t at = 40, len;
	int protocol = p[6];

	if (n < 40) {
		printf("short\n");
		return;
	}
	/* Reports have a router alert in front of them. */
	while (protocol == IPPROTO_HOPOPTS && n >= at + 8) {
		len = ((size_t)p[at + 1] + 1) * 8;
		protocol = p[at];
		at += len;
	}
	note_packet(true, protocol, p + 24, p + at, n > at ? n - at : 0);
}

static void note_lost(int fd)
{
	struct tpacket_stats stats = {};
	socklen_t len = sizeof(stats);

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) < 0)
		stats.tp_drops = 1;
	printf("lost %u\n", stats.tp_drops);
}

/* What was lost is told since it was told last: so it is added up by who reads it. */
static void note(int fd, int type, const unsigned char *p, size_t n)
{
	if (type == ETHERTYPE_IP && n)
		note4(p, n);
	else if (type == ETHERTYPE_IPV6 && n)
		note6(p, n);
	else if (type == ETHERTYPE_ARP && n >= 28)
		printf("neighbour %s\n", text_of(false, p + 24));
	else if (type == ETHERTYPE_MARK && n >= 32) {
		note_lost(fd);
		printf("mark %.32s\n", (const char *)p);
	} else
		printf("ether %04x\n", type);
}

/* DEVICE */
int tool_capture(char **args)
{
	struct sockaddr_ll from = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL)), room = ROOM;
	socklen_t len = sizeof(from);
	static unsigned char buf[65536];
	ssize_t n;

	from.sll_ifindex = (int)if_nametoindex(args[0]);
	if (fd < 0 || bind(fd, (struct sockaddr *)&from, len) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
		return setup(args[0]);
	puts("capturing");
	fflush(stdout);
	while ((n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len)) >= 0) {
		if (from.sll_pkttype == PACKET_OUTGOING)
			continue;
		note(fd, ntohs(from.sll_protocol), buf, (size_t)n);
		fflush(stdout);
	}
	return setup("recvfrom");
}

/* DEVICE TEXT: out of it, by nothing that a rule looks at. */
int tool_mark(char **args)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETHERTYPE_MARK),
				  .sll_halen = ETHER_ADDR_LEN };
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);
	char text[46] = {}; /* the least that a frame has */

	to.sll_ifindex = (int)if_nametoindex(args[0]);
	memset(to.sll_addr, 0xff, ETHER_ADDR_LEN);
	snprintf(text, sizeof(text), "%s", args[1]);
	return outcome(
		fd < 0 ? -1
		       : sendto(fd, text, sizeof(text), 0, (struct sockaddr *)&to, sizeof(to)));
}
