// SPDX-License-Identifier: GPL-2.0-only
/* Ways to reach another machine by TCP and UDP. 0 means that an answer came. */
#include "net.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

socklen_t address_of(struct sockaddr_storage *ss, const char *address, const char *port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)atoi(port));
		return sizeof(*in6);
	}
	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)atoi(port));
	return inet_pton(AF_INET, address, &in->sin_addr) == 1 ? sizeof(*in) : 0;
}

int socket_to(const struct sockaddr_storage *ss, int type, int protocol)
{
	struct timeval patience = { .tv_usec = PATIENCE_MS * 1000 };
	int fd = socket(ss->ss_family, type, protocol);

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	}
	return fd;
}

/* A wait that ended without an answer. */
int net_errno(void)
{
	return errno == EAGAIN || errno == EINPROGRESS ? ETIMEDOUT : errno;
}

int answered(int fd)
{
	char buf[65536];

	return recv(fd, buf, sizeof(buf), 0) > 0 ? 0 : net_errno();
}

int said(int fd)
{
	return send(fd, "x", 1, MSG_NOSIGNAL) < 0 ? net_errno() : answered(fd);
}

static int connect_nonblock(int fd, const struct sockaddr_storage *ss, socklen_t len)
{
	struct pollfd polled = { fd, POLLOUT, 0 };
	int failed = 0;
	socklen_t size = sizeof(failed);

	if (connect(fd, (const struct sockaddr *)ss, len) == 0)
		return said(fd);
	if (errno != EINPROGRESS)
		return errno;
	if (poll(&polled, 1, PATIENCE_MS) != 1)
		return ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size);
	fcntl(fd, F_SETFL, 0);
	return failed ? failed : said(fd);
}

/* To the Bench's own address, which the test knows. */
static int bind_to_source(int fd)
{
	struct sockaddr_storage from;
	socklen_t len = address_of(&from, getenv("SOURCE") ?: "", "0");

	return bind(fd, (struct sockaddr *)&from, len);
}

/* From a port that the other end knows as sealed. */
static int bind_to_port(const char *address, const char *port)
{
	struct sockaddr_storage from;
	socklen_t len = address_of(&from, address, port);
	int fd = socket_to(&from, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return bind(fd, (struct sockaddr *)&from, len) < 0 ? -1 : fd;
}

/* ADDRESS PORT FROM PORT */
int probe_from(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = bind_to_port(args[2], args[3]);

	if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return setup("bind");
	return connect_nonblock(fd, &ss, len);
}

/* A Bench's way out is eth0, that of the host the veth to the server. */
static int bind_to_device(int fd)
{
	const char *device = if_nametoindex("eth0") ? "eth0" : "bm-attack0";

	return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1);
}

int probe_tcp(char **args)
{
	const char *how = args[2] ? args[2] : "";
	bool mptcp = !strncmp(how, "mptcp", 5), fast = strstr(how, "fastopen");
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_STREAM | (strcmp(how, "nonblock") ? 0 : SOCK_NONBLOCK),
			   mptcp ? IPPROTO_MPTCP : 0);

	if (fd < 0)
		return setup("socket");
	if (!strcmp(how, "bound") && bind_to_source(fd) < 0)
		return setup("bind");
	if (!strcmp(how, "device") && bind_to_device(fd) < 0)
		return errno;
	if (!strcmp(how, "nonblock"))
		return connect_nonblock(fd, &ss, len);
	if (fast)
		return sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&ss,
			      len) < 0
			       ? net_errno()
			       : answered(fd);
	return connect(fd, (struct sockaddr *)&ss, len) < 0 ? net_errno() : said(fd);
}

int probe_udp(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_DGRAM, 0);

	if (fd < 0)
		return setup("socket");
	return sendto(fd, "x", 1, 0, (struct sockaddr *)&ss, len) < 0 ? net_errno() : answered(fd);
}

int probe_udpc(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_DGRAM, 0);

	if (fd < 0)
		return setup("socket");
	return connect(fd, (struct sockaddr *)&ss, len) < 0 ? net_errno() : said(fd);
}

/* Connected to what is allowed, yet sending elsewhere. */
int probe_switch(char **args)
{
	struct sockaddr_storage good, bad;
	socklen_t good_len = address_of(&good, args[0], args[1]);
	socklen_t bad_len = address_of(&bad, args[2], args[3]);
	int fd = socket_to(&good, SOCK_DGRAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&good, good_len) < 0)
		return setup("connect");
	if (sendto(fd, "x", 1, 0, (struct sockaddr *)&bad, bad_len) < 0)
		return net_errno();
	return 0;
}

/* Two datagrams in one call: what became of the second. */
int probe_mmsg(char **args)
{
	struct sockaddr_storage ss[2];
	struct iovec iov = { "x", 1 };
	struct mmsghdr msgs[2] = {};
	int fd, sent;

	for (int i = 0; i < 2; i++) {
		msgs[i].msg_hdr.msg_namelen = address_of(&ss[i], args[2 * i], args[2 * i + 1]);
		msgs[i].msg_hdr.msg_name = &ss[i];
		msgs[i].msg_hdr.msg_iov = &iov;
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	fd = socket_to(&ss[0], SOCK_DGRAM, 0);
	if (fd < 0)
		return setup("socket");
	sent = sendmmsg(fd, msgs, 2, 0);
	if (sent == 1) /* the kernel keeps the errno of the second for the next call */
		sent = sendmmsg(fd, msgs + 1, 1, 0) - 1;
	return sent < 0 ? net_errno() : answered(fd);
}

int probe_mapped(char **args)
{
	bool udp = !strcmp(args[0], "udp");
	struct sockaddr_storage ss;
	char mapped[64];
	socklen_t len;
	int fd;

	snprintf(mapped, sizeof(mapped), "::ffff:%s", args[1]);
	len = address_of(&ss, mapped, args[2]);
	fd = socket_to(&ss, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
	if (fd < 0)
		return setup("socket");
	if (udp)
		return sendto(fd, "x", 1, 0, (struct sockaddr *)&ss, len) < 0 ? net_errno()
									      : answered(fd);
	return connect(fd, (struct sockaddr *)&ss, len) < 0 ? net_errno() : said(fd);
}

int probe_big(char **args)
{
	static char data[4000];
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_DGRAM, 0);

	if (fd < 0)
		return setup("socket");
	return sendto(fd, data, sizeof(data), 0, (struct sockaddr *)&ss, len) < 0 ? net_errno()
										  : answered(fd);
}

static int listening(const char *address, const char *port, struct sockaddr_storage *ss,
		     socklen_t *len)
{
	int fd, on = 1;

	*len = address_of(ss, address, port);
	fd = socket_to(ss, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)ss, *len) < 0 || listen(fd, 4) < 0)
		return -1;
	return getsockname(fd, (struct sockaddr *)ss, len) < 0 ? -1 : fd;
}

int probe_loopback(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int server = listening(args[0], "0", &ss, &len), fd;

	if (server < 0)
		return setup("listen");
	fd = socket_to(&ss, SOCK_STREAM, 0);
	return connect(fd, (struct sockaddr *)&ss, len) < 0 ? net_errno() : 0;
}

/* TCP's simultaneous open needs no listener. */
int probe_self(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&ss, len) < 0)
		return setup("bind");
	return connect(fd, (struct sockaddr *)&ss, len) < 0 ? net_errno() : 0;
}

/* Prints "running", and when no answer comes any more, how many came and when the last did. */
int tool_stream(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket_to(&ss, SOCK_STREAM, 0), status = 0, answers = 0;
	uint64_t last = 0;

	if (fd < 0 || connect(fd, (struct sockaddr *)&ss, len) < 0)
		return setup("connect");
	while (status == 0) {
		uint64_t start = now_ns();

		status = said(fd);
		if (status)
			break;
		last = start;
		if (++answers == 10) {
			puts("running");
			fflush(stdout);
		}
	}
	printf("%d %d %" PRIu64 "\n", answers, status, last);
	return 0;
}
