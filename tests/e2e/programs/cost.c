// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a call costs, in instructions, where the clock counts these (tools/vm --icount):
 *
 *   cost serve ADDRESS PORT
 *   cost ADDRESS PORT
 *
 * The first answers each byte with one, and lets datagrams lie, until it is killed; it prints
 * "ready". The second prints "connect N", "datagram N" and "packet N": a TCP connection made and
 * ended, 64 bytes of UDP sent, and one byte there and back over TCP, with all that both ends and
 * the kernel do for it. The first line is "loop N", of a loop of a million instructions.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "say.h"

/* The least of so many rounds: a tick of the clock falls into some of them. */
#define ROUNDS 15
#define CALLS 40

static struct sockaddr_in at = { .sin_family = AF_INET };

static void must(const char *what, long result)
{
	if (result >= 0)
		return;
	say(what, -1);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void loop(int fd)
{
	unsigned long n = 500000 / CALLS;

	(void)fd;
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
}

/* Ended by a reset: of the thousand that are made none is kept in TIME_WAIT. */
static void end(int fd)
{
	struct linger none = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	must("socket", fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	must("connect", connect(fd, (struct sockaddr *)&at, sizeof(at)));
	return fd;
}

static void datagram(int fd)
{
	static const char bytes[64];

	must("sendto", sendto(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&at, sizeof(at)));
}

static void packet(int fd)
{
	char byte = 'x';

	must("write", write(fd, &byte, 1));
	must("read", read(fd, &byte, 1));
}

/* With an answer, so that what the server has to do falls into the same call. */
static void connection(int fd)
{
	fd = dial();
	packet(fd);
	end(fd);
}

/* The cheapest: others find more sockets in their way, of which those before have left some. */
static void measure(const char *what, void (*call)(int fd), int fd)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i <= ROUNDS * CALLS; i++) {
		uint64_t began = now(), took;

		call(fd);
		took = now() - began;
		/* The first one finds nothing in any cache. */
		if (i && took < least)
			least = took;
	}
	printf("%s %llu\n", what, (unsigned long long)least);
}

static void answer(int fd)
{
	char byte;

	while (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
		;
	close(fd);
}

static void serve(void)
{
	int stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, fd;
	int datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), least = 1;

	setsockopt(stream, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* Full after the first, so that each is looked at and dropped. */
	setsockopt(datagrams, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	must("bind", bind(stream, (struct sockaddr *)&at, sizeof(at)));
	must("bind", bind(datagrams, (struct sockaddr *)&at, sizeof(at)));
	must("listen", listen(stream, 64));
	puts("ready");
	fflush(stdout);
	while ((fd = accept(stream, NULL, NULL)) >= 0)
		answer(fd);
	must("accept", fd);
}

int main(int argc, char **argv)
{
	int server = argc == 4 && !strcmp(argv[1], "serve"), stream, datagrams;

	if (argc != 3 + server || inet_pton(AF_INET, argv[1 + server], &at.sin_addr) != 1) {
		fputs("usage: cost [serve] ADDRESS PORT\n", stderr);
		return 2;
	}
	at.sin_port = htons((uint16_t)atoi(argv[2 + server]));
	if (server)
		serve();
	measure("loop", loop, -1);
	measure("connection", connection, -1);
	datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	must("socket", datagrams);
	measure("datagram", datagram, datagrams);
	stream = dial();
	measure("packet", packet, stream);
	end(stream);
	return 0;
}
