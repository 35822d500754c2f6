// SPDX-License-Identifier: GPL-2.0-only
/* Connections to a broker's endpoint that are kept, given away and inherited while it is taken
 * back. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net.h"

static const char begins[] = "GET /v1/a HTTP/1.1\r\nHost: model.broker\r\n";
static const char ends[] = "\r\n";
#define ANSWER_MS 60000
#define NOTHING 61 /* ENODATA: it was told that there is nothing more */

static int begun(char **args)
{
	struct sockaddr_storage ss;
	socklen_t len = address_of(&ss, args[0], args[1]);
	int fd = socket(ss.ss_family, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&ss, len) < 0 ||
	    send(fd, begins, sizeof(begins) - 1, MSG_NOSIGNAL) < 0)
		return -1;
	return fd;
}

/* 0 when something is heard, else why not. */
static int heard(int fd)
{
	struct pollfd polled = { fd, POLLIN, 0 };
	char buf[16];
	ssize_t n;

	if (poll(&polled, 1, ANSWER_MS) <= 0)
		return TIMED_OUT;
	n = recv(fd, buf, sizeof(buf), 0);
	return n > 0 ? 0 : n < 0 ? errno : NOTHING;
}

static int finished(int fd)
{
	if (send(fd, ends, sizeof(ends) - 1, MSG_NOSIGNAL) < 0)
		return errno;
	return heard(fd);
}

/* By the next descriptor that comes. */
static int taken(int from)
{
	int fd, r = take_fd(from, &fd);

	return r ? r : finished(fd);
}

static void tell(const char *way, int r)
{
	printf("%s %d\n", way, r);
	fflush(stdout);
}

/* What a child has in hand, and what is given to it: before that line and after it. */
static int child(int from, int go, int inherited)
{
	char byte;
	int before = -1, r = take_fd(from, &before);

	tell("early", r ? r : finished(before));
	if (take_fd(from, &before) || recv(go, &byte, 1, 0) != 1)
		return setup("recv");
	tell("passed", finished(before));
	tell("inherited", finished(inherited));
	/* It lay in the socket between us all the time. */
	tell("in_flight", taken(from));
	return 0;
}

/*
 * ADDRESS PORT: what is asked by a descriptor that another process was given; then prints
 * "holding", and after a line on stdin, for each way to go on NAME ERRNO, 0 where something is
 * answered.
 */
int tool_endpoint(char **args)
{
	int pair[2], go[2], early, passed, inherited, flying, kept, unread;
	struct pollfd polled = { .events = POLLIN };
	char line[8];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, go) < 0)
		return setup("socketpair");
	early = begun(args);
	unread = begun(args);
	inherited = begun(args);
	passed = begun(args);
	flying = begun(args);
	kept = begun(args);
	if (early < 0 || unread < 0 || inherited < 0 || passed < 0 || flying < 0 || kept < 0)
		return setup("connect");
	pid = fork();
	if (pid == 0)
		_exit(child(pair[1], go[1], inherited));
	polled.fd = unread;
	if (pid < 0 || send_fd(pair[0], early) < 0 || send_fd(pair[0], passed) < 0 ||
	    send_fd(pair[0], flying) < 0 ||
	    send(unread, ends, sizeof(ends) - 1, MSG_NOSIGNAL) < 0 ||
	    poll(&polled, 1, ANSWER_MS) <= 0)
		return setup("send");
	puts("holding");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return setup("stdin");
	tell("unread", heard(unread));
	tell("kept", finished(kept));
	kept = begun(args);
	tell("again", kept < 0 ? errno : finished(kept));
	if (send(go[0], "x", 1, 0) != 1)
		return setup("send");
	return waitpid(pid, NULL, 0) == pid ? 0 : setup("waitpid");
}
