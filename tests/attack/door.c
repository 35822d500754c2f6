// SPDX-License-Identifier: GPL-2.0-only
/* The door of a Bench: what may be said at it, and what it tells of the other end. */
#include "payload.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#define SO_PEERPIDFD 77
#endif
#define SCM_PIDFD_ 4
#define DOOR "/run/benchmon/socket"
#define VERSION "{\"v\":1,\"op\":\"version\"}"
#define CONTROL 256

static int reach(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -1 : fd;
}

/* The errno that the daemon's answer has; 0: it was done. ECONNRESET: it hung up. */
static int answer(int fd)
{
	char text[65536], *at;
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return n < 0 ? errno : ECONNRESET;
	text[n] = '\0';
	at = strstr(text, "\"errno\":");
	return at ? atoi(at + strlen("\"errno\":")) : strstr(text, "\"ok\":true") ? 0 : SETUP;
}

static int say(const void *text, size_t size)
{
	int fd = reach(DOOR);

	if (fd < 0)
		return errno;
	return send(fd, text, size, MSG_NOSIGNAL) < 0 ? errno : answer(fd);
}

/* OP [KEY=VALUE...]: strings all of them */
static int way_op(char **args)
{
	char text[1024];
	size_t len = (size_t)snprintf(text, sizeof(text), "{\"v\":1,\"op\":\"%s\"", args[0]);

	for (char **more = args + 1; *more; more++) {
		size_t key = strcspn(*more, "=");

		len += (size_t)snprintf(text + len, sizeof(text) - len, ",\"%.*s\":\"%s\"",
					(int)key, *more, *more + key + 1);
	}
	len += (size_t)snprintf(text + len, sizeof(text) - len, "}");
	return say(text, len);
}

/* SIZE: a message of so many bytes, well-formed */
static int way_size(char **args)
{
	size_t size = (size_t)atoi(args[0]);
	char *text = malloc(size);

	memset(text, ' ', size);
	memcpy(text, VERSION, strlen(VERSION));
	return say(text, size);
}

/* TEXT: as it is */
static int way_raw(char **args)
{
	return say(args[0], strlen(args[0]));
}

static int send_beside(int type, const void *data, size_t size)
{
	union {
		struct cmsghdr head;
		char space[CONTROL];
	} control = { .head = { CMSG_LEN(size), SOL_SOCKET, type } };
	struct iovec text = { (char *)VERSION, strlen(VERSION) };
	struct msghdr message = { .msg_iov = &text,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = CMSG_SPACE(size) };
	int fd = reach(DOOR);

	if (fd < 0)
		return errno;
	memcpy(CMSG_DATA(&control.head), data, size);
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? errno : answer(fd);
}

static int way_fd(char **args)
{
	int fds[3] = { 0, 1, 2 };

	(void)args;
	return send_beside(SCM_RIGHTS, fds, sizeof(fds));
}

/* PID: credentials that are not one's own */
static int way_forge(char **args)
{
	struct ucred who = { .pid = atoi(args[0]) };

	return send_beside(SCM_CREDENTIALS, &who, sizeof(who));
}

/* ESRCH: whoever that is said to be is nobody who could be found. */
static int is_anybody(pid_t pid)
{
	return pid <= 0 || (kill(pid, 0) < 0 && errno == ESRCH) ? ESRCH : 0;
}

/* [own]: of a pair instead */
static int connected(char **args)
{
	int pair[2];

	if (args[0] && !strcmp(args[0], "own"))
		return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 ? -1 : pair[0];
	return reach(DOOR);
}

static int way_peer(char **args)
{
	struct ucred who;
	socklen_t size = sizeof(who);
	int fd = connected(args);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return setup("SO_PEERCRED");
	/* Not even that it is root's. */
	return who.uid == 0 && !args[0] ? 0 : is_anybody(who.pid);
}

/* ESRCH: there is none, or it is of somebody who has ended. */
static int way_peerpidfd(char **args)
{
	int peer, fd = connected(args);
	socklen_t size = sizeof(peer);

	if (fd < 0)
		return setup("door");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &peer, &size) < 0)
		return errno == EINVAL || errno == ESRCH ? ESRCH : errno;
	return syscall(SYS_pidfd_send_signal, peer, 0, NULL, 0) < 0 && errno == ESRCH ? ESRCH : 0;
}

static pid_t pid_of_pidfd(int fd)
{
	char path[64], line[128];
	FILE *info;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "re");
	while (info && fgets(line, sizeof(line), info))
		if (sscanf(line, "Pid: %d", &pid) == 1)
			break;
	if (info)
		fclose(info);
	return pid;
}

/* creds|pidfd: what comes beside an answer. ESRCH: it is oneself, or nobody. */
static int way_pass(char **args)
{
	bool pidfd = !strcmp(args[0], "pidfd");
	int on = 1, fd = reach(DOOR);
	char text[4096], control[CONTROL];
	struct iovec to = { text, sizeof(text) };
	struct msghdr message = { .msg_iov = &to,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *head;
	struct ucred who = {};
	int handle = -1;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, pidfd ? SO_PASSPIDFD : SO_PASSCRED, &on, sizeof(on)) < 0)
		return setup("SO_PASS");
	if (send(fd, VERSION, strlen(VERSION), MSG_NOSIGNAL) < 0 || recvmsg(fd, &message, 0) <= 0)
		return setup("answer");
	for (head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
		if (head->cmsg_type == SCM_CREDENTIALS)
			memcpy(&who, CMSG_DATA(head), sizeof(who));
		else if (head->cmsg_type == SCM_PIDFD_)
			memcpy(&handle, CMSG_DATA(head), sizeof(handle));
	}
	if (pidfd)
		who = (struct ucred){ .pid = handle < 0 ? 0 : pid_of_pidfd(handle) };
	return who.pid == getpid() && (pidfd || who.uid == getuid()) ? ESRCH : is_anybody(who.pid);
}

/* COUNT: connects, asks and hangs up, over and over */
static int way_flood(char **args)
{
	int asked = 0;

	for (int n = atoi(args[0]); n > 0; n--) {
		int fd = reach(DOOR);

		if (fd < 0)
			continue;
		asked += send(fd, n & 1 ? VERSION : "{", n & 1 ? strlen(VERSION) : 1,
			      MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
		close(fd);
		if (asked == 1) {
			printf("flooding\n");
			fflush(stdout);
		}
	}
	printf("asked %d\n", asked);
	return 0;
}

/* COUNT: so many connections that say nothing; until all of them have been hung up on */
static int way_silent(char **args)
{
	int count = atoi(args[0]), fds[16];
	struct pollfd polled = { .events = POLLIN };
	char byte;

	for (int i = 0; i < count; i++) {
		fds[i] = reach(DOOR);
		if (fds[i] < 0)
			return errno;
	}
	printf("silent\n");
	fflush(stdout);
	for (int i = 0; i < count; i++) {
		polled.fd = fds[i];
		if (poll(&polled, 1, 100000) != 1 || recv(fds[i], &byte, 1, 0) > 0)
			return ETIMEDOUT;
	}
	return 0;
}

static const struct way ways[] = {
	{ "op", way_op },
	{ "size", way_size },
	{ "raw", way_raw },
	{ "fd", way_fd },
	{ "forge", way_forge },
	{ "peer", way_peer },
	{ "peerpidfd", way_peerpidfd },
	{ "pass", way_pass },
	{ "flood", way_flood },
	{ "silent", way_silent },
};

int probe_door(char **args)
{
	return by_way(ways, sizeof(ways) / sizeof(ways[0]), args);
}
