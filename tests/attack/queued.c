// SPDX-License-Identifier: GPL-2.0-only
/* What came before a destination was taken back, read after it in each way; and who waits for more.
 */
#include "net.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 64
#define ZEROCOPY_RECEIVE 35 /* TCP_ZEROCOPY_RECEIVE */

/* As in linux/tcp.h, which does not go with netinet/tcp.h. */
struct zerocopy {
	uint64_t address;
	uint32_t length, hint, inq;
	int32_t err;
	uint64_t copy_address;
	int32_t copy_length;
	uint32_t flags;
	uint64_t control, control_length;
	uint32_t control_flags, reserved;
};

static struct sockaddr_storage to, mapped, stays;
static socklen_t to_len, mapped_len, stays_len;
static char data[BYTES], buf[4096];
static int pipes[2], pair[2];

static int arrived(int fd)
{
	struct pollfd polled = { fd, POLLIN, 0 };

	return poll(&polled, 1, 10000) == 1 ? fd : -1;
}

/* A stream in whose queue an answer lies. */
static int stream(const struct sockaddr_storage *ss, socklen_t len, int protocol)
{
	int fd = socket(ss->ss_family, SOCK_STREAM, protocol);

	if (fd < 0 || connect(fd, (const struct sockaddr *)ss, len) < 0 ||
	    send(fd, data, BYTES, MSG_NOSIGNAL) != BYTES)
		return -1;
	return arrived(fd);
}

static int ask(int fd, const struct sockaddr_storage *ss, socklen_t len)
{
	if (fd < 0 || sendto(fd, data, 8, 0, (const struct sockaddr *)ss, len) != 8)
		return -1;
	return arrived(fd);
}

/* count answers that wait, from where the last one came too. */
static int datagrams(const struct sockaddr_storage *ss, socklen_t len, int count)
{
	int fd = socket(ss->ss_family, SOCK_DGRAM, 0);

	while (count-- && fd >= 0)
		fd = ask(fd, ss, len);
	return fd;
}

static int connected(void)
{
	int fd = datagrams(&to, to_len, 1);

	return fd < 0 || connect(fd, (struct sockaddr *)&to, to_len) < 0 ? -1 : fd;
}

/* In no table of the kernel's any more, and with an answer in its queue. */
static int unbound(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int fd = datagrams(&to, to_len, 1);

	return fd < 0 || connect(fd, &none, sizeof(none)) < 0 ? -1 : fd;
}

static int mixed(void)
{
	return ask(datagrams(&stays, stays_len, 1), &to, to_len);
}

static int led_elsewhere(void)
{
	int fd = datagrams(&to, to_len, 1);

	return fd < 0 || connect(fd, (struct sockaddr *)&stays, stays_len) < 0 ? -1 : fd;
}

static int t, t_mapped, t_mptcp, u, u_mapped, u_connected, u_unbound, u_mixed, u_elsewhere, u_stays;

static bool fill(void)
{
	int sent;

	t = stream(&to, to_len, 0);
	t_mapped = stream(&mapped, mapped_len, 0);
	t_mptcp = stream(&to, to_len, IPPROTO_MPTCP);
	u = datagrams(&to, to_len, 8);
	u_mapped = datagrams(&mapped, mapped_len, 1);
	u_connected = connected();
	u_unbound = unbound();
	u_mixed = mixed();
	u_elsewhere = led_elsewhere();
	u_stays = datagrams(&stays, stays_len, 4);
	if (t < 0 || t_mapped < 0 || t_mptcp < 0 || u < 0 || u_mapped < 0 || u_connected < 0 ||
	    u_unbound < 0 || u_mixed < 0 || u_elsewhere < 0 || u_stays < 0 || pipe(pipes) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return false;
	/* Who is answered last was asked last. */
	close(datagrams(&to, to_len, 1));
	close(datagrams(&stays, stays_len, 1));
	/* On their way, and nobody's descriptors. */
	for (int i = 0; i < 2; i++) {
		sent = i ? datagrams(&to, to_len, 1) : stream(&to, to_len, 0);
		if (sent < 0 || send_fd(pair[0], sent) < 0)
			return false;
		close(sent);
	}
	return true;
}

static long get(int fd)
{
	return recv(fd, buf, 1, MSG_DONTWAIT);
}

static long by_msg(int fd)
{
	struct iovec iov = { buf, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return recvmsg(fd, &msg, MSG_DONTWAIT);
}

static long by_mmsg(int fd)
{
	struct iovec iov[2] = { { buf, 1 }, { buf, 1 } };
	struct mmsghdr msgs[2] = { { .msg_hdr = { .msg_iov = &iov[0], .msg_iovlen = 1 } },
				   { .msg_hdr = { .msg_iov = &iov[1], .msg_iovlen = 1 } } };

	return recvmmsg(fd, msgs, 2, MSG_DONTWAIT, NULL);
}

static long by_aio(int fd)
{
	return read_by_aio(fd, buf);
}

/* What it copies has met no recvmsg. */
static long by_zerocopy(int fd)
{
	struct zerocopy zc = { .copy_address = (uintptr_t)buf, .copy_length = sizeof(buf) };
	socklen_t len = sizeof(zc);

	if (getsockopt(fd, IPPROTO_TCP, ZEROCOPY_RECEIVE, &zc, &len) < 0)
		return -1;
	errno = ENODATA;
	return zc.copy_length > 0 || zc.length ? 0 : -1;
}

static long in_fork(int fd)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(get(fd) < 0 ? errno : 0);
	waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

/* It could be hidden so where only what is in the tables is looked for. */
static long bound_again(int fd)
{
	struct sockaddr_storage any;
	socklen_t len = address_of(&any, "0.0.0.0", "0");

	return bind(fd, (struct sockaddr *)&any, len) < 0 ? -1 : get(fd);
}

static long received(void)
{
	errno = receive_fd(pair[1]);
	return errno ? -1 : 0;
}

#define EACH(X)                                                                                    \
	X(tcp_recv, get(t))                                                                        \
	X(tcp_peek, recv(t, buf, 1, MSG_PEEK | MSG_DONTWAIT))                                      \
	X(tcp_trunc, recv(t, buf, 1, MSG_TRUNC | MSG_DONTWAIT))                                    \
	X(tcp_read, read(t, buf, 1))                                                               \
	X(tcp_readv, readv(t, &(struct iovec){ buf, 1 }, 1))                                       \
	X(tcp_recvmsg, by_msg(t))                                                                  \
	X(tcp_recvmmsg, by_mmsg(t))                                                                \
	X(tcp_splice, splice(t, NULL, pipes[1], NULL, 1, SPLICE_F_NONBLOCK))                       \
	X(tcp_aio, by_aio(t))                                                                      \
	X(tcp_dup, get(dup(t)))                                                                    \
	X(tcp_fork, in_fork(t))                                                                    \
	X(tcp_zerocopy, by_zerocopy(t))                                                            \
	X(tcp_mapped, get(t_mapped))                                                               \
	X(tcp_multipath, get(t_mptcp))                                                             \
	X(udp_recv, get(u))                                                                        \
	X(udp_peek, recv(u, buf, 1, MSG_PEEK | MSG_DONTWAIT))                                      \
	X(udp_read, read(u, buf, 1))                                                               \
	X(udp_recvmsg, by_msg(u))                                                                  \
	X(udp_recvmmsg, by_mmsg(u))                                                                \
	X(udp_aio, by_aio(u))                                                                      \
	X(udp_fork, in_fork(u))                                                                    \
	X(udp_mapped, get(u_mapped))                                                               \
	X(udp_connected, get(u_connected))                                                         \
	X(udp_unbound, bound_again(u_unbound))                                                     \
	X(udp_mixed, get(u_mixed))                                                                 \
	X(udp_elsewhere, get(u_elsewhere))                                                         \
	X(tcp_received, received())                                                                \
	X(udp_received, received())                                                                \
	X(stays_recv, get(u_stays))                                                                \
	X(stays_recvmmsg, by_mmsg(u_stays))                                                        \
	X(stays_read, read(u_stays, buf, 1))

/* ADDRESS PORT STAYS: prints "holding"; after a line on stdin, for each way NAME ERRNO. */
int tool_queued(char **args)
{
	char text[64];

	snprintf(text, sizeof(text), "::ffff:%s", args[0]);
	to_len = address_of(&to, args[0], args[1]);
	mapped_len = address_of(&mapped, text, args[1]);
	stays_len = address_of(&stays, args[0], args[2]);
	if (!fill())
		return setup("fill");
	puts("holding");
	fflush(stdout);
	if (!fgets(buf, sizeof(buf), stdin))
		return setup("stdin");
	/* What an ended connection has to say comes before what it had heard, and only once. */
	for (int i = 0; i < 2; i++)
		getsockopt(i ? t : u_connected, SOL_SOCKET, SO_ERROR, &(int){ 0 },
			   &(socklen_t){ sizeof(int) });
#define X(name, call)                                                                              \
	errno = 0;                                                                                 \
	printf("%s %d\n", #name, (call) < 0 ? errno : 0);                                          \
	fflush(stdout);
	EACH(X)
#undef X
	return 0;
}

/* ADDRESS PORT recv|mptcp|send|connect|udp: waits in that call for what does not come. */
int tool_waits(char **args)
{
	static char much[1 << 16];
	bool udp = !strcmp(args[2], "udp");
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket(ss.ss_family, udp ? SOCK_DGRAM : SOCK_STREAM,
			strcmp(args[2], "mptcp") ? 0 : IPPROTO_MPTCP);
	long n = 0;

	if (fd < 0)
		return setup("socket");
	if (!strcmp(args[2], "connect")) {
		puts("waiting");
		fflush(stdout);
		n = connect(fd, (struct sockaddr *)&ss, len);
	} else {
		if (connect(fd, (struct sockaddr *)&ss, len) < 0)
			return setup("connect");
		puts("waiting");
		fflush(stdout);
		do
			n = strcmp(args[2], "send") ? recv(fd, buf, 1, 0)
						    : send(fd, much, sizeof(much), MSG_NOSIGNAL);
		while (n > 0);
	}
	printf("waited %ld %d\n", n, n < 0 ? errno : 0);
	return 0;
}

#define READERS 4
#define SENDERS 2
#define DATAGRAMS 4000
/* Of those that come faster than they are read most are lost, the more the busier the machine. */
#define ENOUGH 2000
#define AT_MOST 100000

static int shared;
static _Atomic long counts[READERS];
static long refused[READERS];

static long all_read(void)
{
	long sum = 0;

	for (int i = 0; i < READERS; i++)
		sum += counts[i];
	return sum;
}

static void *sends(void *arg)
{
	for (int i = 0; i < DATAGRAMS || (i < AT_MOST && all_read() < ENOUGH); i++)
		send(shared, data, 8, 0);
	return arg;
}

static void *reads(void *arg)
{
	_Atomic long *count = arg;
	long i = count - counts;

	for (;;) {
		if (recv(shared, (char[8]){}, 8, 0) > 0)
			(*count)++;
		else if (errno == EACCES)
			refused[i]++;
		else
			return NULL;
	}
}

/* ADDRESS PORT: many read one socket while more comes; how much came, and how often EACCES did. */
int tool_churn(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	pthread_t readers[READERS], senders[SENDERS];
	long denied = 0;

	shared = socket_to(&ss, SOCK_DGRAM, 0);
	if (shared < 0 || connect(shared, (struct sockaddr *)&ss, len) < 0)
		return setup("connect");
	for (int i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, reads, (void *)&counts[i]);
	for (int i = 0; i < SENDERS; i++)
		pthread_create(&senders[i], NULL, sends, NULL);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(senders[i], NULL);
	/* They end when nothing has come for a while. */
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i], NULL);
		denied += refused[i];
	}
	printf("%ld %ld\n", all_read(), denied);
	return 0;
}

/* PORT: the other end of one connection, which says how that ended. It reads nothing before. */
int tool_peer(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, "::", args[0]);
	int fd = socket(AF_INET6, SOCK_STREAM, 0), peer, on = 1, failed = 0;
	struct pollfd polled;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&ss, len) < 0 || listen(fd, 1) < 0)
		return setup("listen");
	puts("listening");
	fflush(stdout);
	peer = accept(fd, NULL, NULL);
	puts("accepted");
	fflush(stdout);
	/* POLLERR and POLLHUP alone, which are always told. */
	polled = (struct pollfd){ peer, 0, 0 };
	poll(&polled, 1, 60000);
	len = sizeof(failed);
	getsockopt(peer, SOL_SOCKET, SO_ERROR, &failed, &len);
	printf("ended %d\n", failed);
	return 0;
}
