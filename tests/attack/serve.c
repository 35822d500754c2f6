// SPDX-License-Identifier: GPL-2.0-only
/* The other side: answers on some ports. */
#include "net.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FDS 256
#define PROTO_UDPLITE 136

static struct pollfd fds[MAX_FDS];
static bool listens[MAX_FDS], streams[MAX_FDS];
static int fd_count;

static int add(int fd, bool listener, bool stream)
{
	if (fd < 0 || fd_count == MAX_FDS)
		return setup("socket");
	fds[fd_count] = (struct pollfd){ fd, POLLIN, 0 };
	listens[fd_count] = listener;
	streams[fd_count++] = stream;
	return 0;
}

/* IPv4 comes in on the same sockets, mapped. */
static int bound(int type, int protocol, const char *port)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, "::", port);
	int fd = socket(AF_INET6, type, protocol), on = 1, off = 0;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, (struct sockaddr *)&ss, len) < 0)
		return -1;
	return type == SOCK_STREAM && listen(fd, 64) < 0 ? -1 : fd;
}

/* A Bench has none. */
static int add_lite(const char *port)
{
	int fd = bound(SOCK_DGRAM, PROTO_UDPLITE, port);

	return fd < 0 && errno == EPERM ? 0 : add(fd, false, false);
}

static void answer(int i)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char buf[65536];
	ssize_t n;

	if (listens[i]) {
		add(accept(fds[i].fd, NULL, NULL), false, true);
		return;
	}
	n = recvfrom(fds[i].fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);
	if (n > 0)
		sendto(fds[i].fd, buf, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&from,
		       streams[i] ? 0 : len);
	if (n <= 0 && streams[i]) {
		close(fds[i].fd);
		fd_count--;
		fds[i] = fds[fd_count];
		streams[i] = streams[fd_count];
		listens[i] = listens[fd_count];
	}
}

int tool_serve(char **args)
{
	for (; *args; args++)
		if (add(bound(SOCK_STREAM, IPPROTO_MPTCP, *args), true, true) ||
		    add(bound(SOCK_DGRAM, 0, *args), false, false) || add_lite(*args))
			return SETUP;
	puts("serving");
	fflush(stdout);
	while (poll(fds, (nfds_t)fd_count, -1) > 0)
		for (int i = fd_count - 1; i >= 0; i--)
			if (fds[i].revents)
				answer(i);
	return setup("poll");
}

/* In a Bench: says so when somebody got in. */
int tool_listen(char **args)
{
	int fd = bound(SOCK_STREAM, 0, args[0]);

	if (fd < 0)
		return setup("listen");
	puts("listening");
	fflush(stdout);
	while (accept(fd, NULL, NULL) >= 0) {
		puts("accepted");
		fflush(stdout);
	}
	return setup("accept");
}
