// SPDX-License-Identifier: GPL-2.0-only
/* Unix sockets: to somebody outside, and among one's own. ADDRESS: a path, or @ and a name. */
#include "payload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t address_of(const char *text, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	strncpy(address->sun_path, text, sizeof(address->sun_path) - 1);
	if (text[0] == '@')
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(text) +
			   (text[0] != '@'));
}

static long send_with(int fd, int carried, struct sockaddr_un *address, socklen_t size)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { (char *)"x", 1 };
	struct msghdr message = { .msg_name = address,
				  .msg_namelen = size,
				  .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &carried, sizeof(carried));
	return sendmsg(fd, &message, MSG_DONTWAIT);
}

static int connecting(int type, char **args)
{
	struct sockaddr_un address;
	socklen_t size = address_of(args[0], &address);
	int fd = socket(AF_UNIX, type, 0);

	if (fd < 0)
		return setup("socket");
	return outcome(connect(fd, (struct sockaddr *)&address, size));
}

static int way_stream(char **args)
{
	return connecting(SOCK_STREAM, args);
}

static int way_seqpacket(char **args)
{
	return connecting(SOCK_SEQPACKET, args);
}

/* ADDRESS: the connection alone */
static int way_dgram(char **args)
{
	return connecting(SOCK_DGRAM, args);
}

static int way_sendto(char **args)
{
	struct sockaddr_un address;
	socklen_t size = address_of(args[0], &address);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	return outcome(sendto(fd, "x", 1, 0, (struct sockaddr *)&address, size) < 0 ? -1 : 0);
}

static int way_sendmmsg(char **args)
{
	struct sockaddr_un address;
	struct iovec byte = { (char *)"x", 1 };
	struct mmsghdr message = {
		.msg_hdr = { .msg_name = &address, .msg_iov = &byte, .msg_iovlen = 1 }
	};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	message.msg_hdr.msg_namelen = address_of(args[0], &address);
	return outcome(sendmmsg(fd, &message, 1, 0));
}

static int way_sendfd(char **args)
{
	struct sockaddr_un address;
	socklen_t size = address_of(args[0], &address);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	return outcome(send_with(fd, fd, &address, size) < 0 ? -1 : 0);
}

/* From a pair of its own, one end of which is connected elsewhere. */
static int way_reconnect(char **args)
{
	struct sockaddr_un address;
	socklen_t size = address_of(args[0], &address);
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
		return setup("socketpair");
	return outcome(connect(pair[0], (struct sockaddr *)&address, size));
}

/* --- one's own
 * ----------------------------------------------------------------------------------*/

/* ADDRESS stream|seqpacket|dgram: listens there, and talks with itself */
static int way_own(char **args)
{
	int type = !strcmp(args[1], "dgram")    ? SOCK_DGRAM
		   : !strcmp(args[1], "stream") ? SOCK_STREAM
						: SOCK_SEQPACKET;
	struct sockaddr_un address;
	socklen_t size = address_of(args[0], &address);
	int server = socket(AF_UNIX, type, 0), client = socket(AF_UNIX, type, 0);

	if (args[0][0] != '@')
		unlink(args[0]);
	if (bind(server, (struct sockaddr *)&address, size) < 0)
		return errno;
	if (type != SOCK_DGRAM && listen(server, 1) < 0)
		return errno;
	if (connect(client, (struct sockaddr *)&address, size) < 0)
		return errno;
	return outcome(send_with(client, server, NULL, 0) < 0 ? -1 : 0);
}

static int way_pair(char **args)
{
	int pair[2];

	(void)args;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return errno;
	return outcome(send_with(pair[0], pair[1], NULL, 0) < 0 ? -1 : 0);
}

/* --- what comes in with the stdin that tool_carry gives
 * ------------------------------------------*/

/* A stream that was connected outside is written to. */
static int way_carried_stream(char **args)
{
	int fd, r = take_fd(STDIN_FILENO, &fd);

	(void)args;
	return r ? r : outcome(send(fd, "x", 1, MSG_NOSIGNAL) < 0 ? -1 : 0);
}

/* ADDRESS: a datagram socket that was made outside sends there. */
static int way_carried_dgram(char **args)
{
	struct sockaddr_un address;
	socklen_t size = address_of(args[0], &address);
	int fd, r = take_fd(STDIN_FILENO, &fd);

	if (r)
		return r;
	return outcome(sendto(fd, "x", 1, 0, (struct sockaddr *)&address, size) < 0 ? -1 : 0);
}

static int way_carried_listener(char **args)
{
	int fd, r = take_fd(STDIN_FILENO, &fd);

	(void)args;
	return r ? r : past(accept4(fd, NULL, NULL, SOCK_NONBLOCK), EAGAIN);
}

/* PATH below it is opened */
static int way_carried_dir(char **args)
{
	int fd, r = take_fd(STDIN_FILENO, &fd);

	return r ? r : outcome(openat(fd, args[0], O_RDWR));
}

static const struct way ways[] = {
	{ "stream", way_stream },
	{ "seqpacket", way_seqpacket },
	{ "dgram", way_dgram },
	{ "sendto", way_sendto },
	{ "sendmmsg", way_sendmmsg },
	{ "sendfd", way_sendfd },
	{ "reconnect", way_reconnect },
	{ "own", way_own },
	{ "pair", way_pair },
	{ "carried-stream", way_carried_stream },
	{ "carried-dgram", way_carried_dgram },
	{ "carried-listener", way_carried_listener },
	{ "carried-dir", way_carried_dir },
};

int probe_unix(char **args)
{
	return by_way(ways, sizeof(ways) / sizeof(ways[0]), args);
}
