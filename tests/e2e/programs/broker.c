// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands in for benchmon-broker, whose interface it follows (userspace/broker/README.md), without
 * an upstream: what is tried here is who starts it, who reaches it, and what ends it. It answers
 *
 *   /hello    with its upstream's first address
 *   /stream   a line every 50 ms, and never the last
 *   /used     with how many calls were told it to be gone
 *   /crash    by exiting with status 7
 *   else      404
 *
 * and with "verify", that it was answered 200.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENDPOINT 3
#define CONTROL 4
#define CLIENTS 32

static char first[65536 + 1], address[64], credential[4097];
static long used;
static unsigned number;

struct client {
	int fd;
	bool streams;
	unsigned long sent;
};

static void tell(const char *text)
{
	if (send(CONTROL, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(2);
}

/* A value of the first message, which our own daemon has written without a blank. */
static long value_of(const char *key)
{
	char word[32];
	const char *at;

	snprintf(word, sizeof(word), "\"%s\":", key);
	at = strstr(first, word);
	return at ? strtol(at + strlen(word), NULL, 10) : 0;
}

static void take_address(void)
{
	const char *at = strstr(first, "\"addresses\":[\"");

	if (at)
		sscanf(at + strlen("\"addresses\":[\""), "%63[^\"]", address);
}

static void take_used(void)
{
	const char *at = strstr(first, "\"used\":{\"requests\":");

	if (at)
		sscanf(at + strlen("\"used\":{\"requests\":"), "%ld", &used);
}

static void begin(void)
{
	char space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { first, sizeof(first) - 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = space,
			      .msg_controllen = sizeof(space) };
	struct cmsghdr *cmsg;
	int fd;
	long uid;

	if (recvmsg(CONTROL, &msg, MSG_CMSG_CLOEXEC) <= 0)
		_exit(3);
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		_exit(3);
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	if (read(fd, credential, sizeof(credential) - 1) < 8)
		_exit(3);
	close(fd);
	take_address();
	take_used();
	uid = value_of("uid");
	if (uid <= 0 || setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		_exit(3);
	if (strstr(first, "\"verify\":true")) {
		char said[256];

		snprintf(said, sizeof(said),
			 "{\"verified\":{\"status\":200,\"address\":\"%s\",\"ms\":1}}", address);
		tell(said);
		_exit(0);
	}
	tell("{\"ready\":true,\"locked\":\"credential\"}");
}

static void record(const char *method, const char *path, int status, unsigned long out)
{
	char said[1024];

	snprintf(said, sizeof(said),
		 "{\"call\":{\"number\":%u,\"method\":\"%.16s\",\"path\":\"%.200s\",\"status\":%d,"
		 "\"bytes_in\":0,\"bytes_out\":%lu,\"ms\":1%s}}",
		 ++number, method, path, status, out,
		 status == 404 ? ",\"refused\":\"broker-path\"" : "");
	tell(said);
}

static void end(struct client *c)
{
	close(c->fd);
	c->fd = -1;
}

static void answer(struct client *c)
{
	char head[4096], method[17] = "", path[201] = "", said[512], body[128];
	size_t len = 0;
	int status = 404;

	/* All of it: what is not read when it is closed would reset the connection. */
	do {
		ssize_t n = read(c->fd, head + len, sizeof(head) - 1 - len);

		if (n <= 0) {
			end(c);
			return;
		}
		len += (size_t)n;
		head[len] = '\0';
	} while (!strstr(head, "\r\n\r\n"));
	sscanf(head, "%16s %200[^ ?\r\n\"\\]", method, path);
	if (!strcmp(path, "/crash"))
		_exit(7);
	if (!strcmp(path, "/stream")) {
		static const char begins[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";

		c->streams = write(c->fd, begins, sizeof(begins) - 1) > 0;
		return;
	}
	snprintf(body, sizeof(body), "no\n");
	if (!strcmp(path, "/hello")) {
		status = 200;
		snprintf(body, sizeof(body), "hello from %s\n", address);
	}
	if (!strcmp(path, "/used")) {
		status = 200;
		snprintf(body, sizeof(body), "used %ld\n", used);
	}
	snprintf(said, sizeof(said),
		 "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
		 strlen(body), body);
	if (write(c->fd, said, strlen(said)) < 0)
		status = 0;
	record(method, path, status, strlen(body));
	end(c);
}

static void go_on(struct client *c)
{
	char line[32];
	int len = snprintf(line, sizeof(line), "line %lu\n", c->sent);

	if (send(c->fd, line, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
		c->sent++;
	} else if (errno != EAGAIN) {
		record("GET", "/stream", 200, c->sent);
		end(c);
	}
}

int main(void)
{
	struct client clients[CLIENTS];
	bool shut = false;

	for (int i = 0; i < CLIENTS; i++)
		clients[i] = (struct client){ .fd = -1 };
	begin();
	fcntl(ENDPOINT, F_SETFL, O_NONBLOCK);
	for (;;) {
		struct pollfd polled[CLIENTS + 2] = { { CONTROL, POLLIN, 0 },
						      { shut ? -1 : ENDPOINT, POLLIN, 0 } };

		for (int i = 0; i < CLIENTS; i++)
			polled[i + 2] = (struct pollfd){ clients[i].streams ? -1 : clients[i].fd,
							 POLLIN, 0 };
		poll(polled, CLIENTS + 2, 50);
		/* Its end, or a word that there is none of: either way this one. */
		if (polled[0].revents)
			_exit(0);
		for (int i = 0; i < CLIENTS; i++) {
			if (clients[i].fd >= 0 && clients[i].streams)
				go_on(&clients[i]);
			else if (clients[i].fd >= 0 && polled[i + 2].revents)
				answer(&clients[i]);
			else if (clients[i].fd < 0 && polled[1].revents & POLLIN) {
				int fd = accept(ENDPOINT, NULL, NULL);

				polled[1].revents = 0;
				clients[i] = (struct client){ .fd = fd };
			}
		}
		/* Shut for a while: looked at in every other round, which waits. */
		shut = !shut && polled[1].revents & (POLLHUP | POLLERR);
	}
}
