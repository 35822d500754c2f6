// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals by every route. What the kernel sends for somebody (SIGIO, SIGURG, a timer) tells its
 * owner nothing: the victim says what came.
 */
#include "payload.h"

#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/sockios.h>

#define PID number(args[0])
#define SIGNO number(args[1])

static int way_kill(char **args)
{
	return outcome(door(SYS_kill, PID, SIGNO, 0, 0, 0, 0));
}

static int way_tkill(char **args)
{
	return outcome(door(SYS_tkill, PID, SIGNO, 0, 0, 0, 0));
}

static int way_tgkill(char **args)
{
	return outcome(door(SYS_tgkill, PID, PID, SIGNO, 0, 0, 0));
}

static int way_group(char **args)
{
	return outcome(door(SYS_kill, -PID, SIGNO, 0, 0, 0, 0));
}

/* Everybody; PID is of no use. What it returns is the last one's: the victims say what came. */
static int way_all(char **args)
{
	door(SYS_kill, -1, SIGNO, 0, 0, 0, 0);
	return 0;
}

static siginfo_t info;

static int way_queue(char **args)
{
	info.si_code = SI_QUEUE;
	info.si_signo = SIGNO;
	return outcome(door(SYS_rt_sigqueueinfo, PID, SIGNO, &info, 0, 0, 0));
}

static int way_tgqueue(char **args)
{
	info.si_code = SI_QUEUE;
	info.si_signo = SIGNO;
	return outcome(door(SYS_rt_tgsigqueueinfo, PID, PID, SIGNO, &info, 0, 0));
}

static int way_pidfd(char **args)
{
	int fd = (int)syscall(SYS_pidfd_open, PID, 0);

	return fd < 0 ? errno : outcome(door(SYS_pidfd_send_signal, fd, SIGNO, 0, 0, 0, 0));
}

/* --- a descriptor's owner
 * -----------------------------------------------------------------------*/

static int ends[2];

static int prepare(int type, int signo)
{
	if (socketpair(AF_UNIX, type, 0, ends) < 0)
		return setup("socketpair");
	return fcntl(ends[0], F_SETSIG, signo) < 0 ? setup("F_SETSIG") : 0;
}

static int trigger(void)
{
	if (fcntl(ends[0], F_SETFL, O_ASYNC) < 0)
		return setup("O_ASYNC");
	return outcome(write(ends[1], "x", 1) < 0 ? -1 : 0);
}

static int way_setown(char **args)
{
	int r = prepare(SOCK_STREAM, SIGNO);

	return r ? r : fcntl(ends[0], F_SETOWN, PID) < 0 ? errno : trigger();
}

static int way_setown_group(char **args)
{
	int r = prepare(SOCK_STREAM, SIGNO);

	return r ? r : fcntl(ends[0], F_SETOWN, -PID) < 0 ? errno : trigger();
}

static int way_setown_ex(char **args)
{
	struct f_owner_ex owner = { F_OWNER_TID, PID };
	int r = prepare(SOCK_STREAM, SIGNO);

	return r ? r : fcntl(ends[0], F_SETOWN_EX, &owner) < 0 ? errno : trigger();
}

static int by_ioctl(unsigned long request, char **args)
{
	int r = prepare(SOCK_STREAM, SIGNO), pid = PID;

	return r ? r : ioctl(ends[0], request, &pid) < 0 ? errno : trigger();
}

static int way_fiosetown(char **args)
{
	return by_ioctl(FIOSETOWN, args);
}

static int way_siocspgrp(char **args)
{
	return by_ioctl(SIOCSPGRP, args);
}

static int way_pipe(char **args)
{
	if (pipe(ends) < 0 || fcntl(ends[0], F_SETSIG, SIGNO) < 0)
		return setup("pipe");
	return fcntl(ends[0], F_SETOWN, PID) < 0 ? errno : trigger();
}

/* Set before, in a parent: the one who writes is another process. */
static int way_fork(char **args)
{
	int r = prepare(SOCK_STREAM, SIGNO);

	if (r)
		return r;
	if (fcntl(ends[0], F_SETOWN, PID) < 0 || fcntl(ends[0], F_SETFL, O_ASYNC) < 0)
		return errno;
	if (fork() == 0)
		_exit(write(ends[1], "x", 1) != 1);
	return 0;
}

/* DIR as third argument: F_NOTIFY of it, its owner being PID. */
static int way_dnotify(char **args)
{
	char path[128];
	int fd = open(args[2], O_RDONLY | O_DIRECTORY);

	if (fd < 0 || fcntl(fd, F_SETSIG, SIGNO) < 0)
		return setup(args[2]);
	if (fcntl(fd, F_NOTIFY, 4 /* create */) < 0 || fcntl(fd, F_SETOWN, PID) < 0)
		return errno;
	snprintf(path, sizeof(path), "%s/made-%d", args[2], getpid());
	return outcome(creat(path, 0600));
}

/* Out of band: SIGURG, whatever F_SETSIG says. */
static int way_urgent(char **args)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), fd;

	if (bind(server, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockname(server, (struct sockaddr *)&address, &size) < 0 || listen(server, 1) < 0 ||
	    connect(client, (struct sockaddr *)&address, sizeof(address)) < 0)
		return setup("loopback");
	fd = accept(server, NULL, NULL);
	if (fd < 0 || fcntl(fd, F_SETOWN, PID) < 0)
		return errno;
	return outcome(send(client, "x", 1, MSG_OOB) < 0 ? -1 : 0);
}

static int way_timer(char **args)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNO };
	timer_t timer;

	event._sigev_un._tid = PID;
	return outcome(timer_create(CLOCK_MONOTONIC, &event, &timer));
}

/* A CPU clock of somebody: a timer on it. */
static int way_cputimer(char **args)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGNO };
	timer_t timer;

	return outcome(syscall(SYS_timer_create, (~(clockid_t)PID << 3) | 2, &event, &timer));
}

/* On a queue NAME, the third argument: somebody else's message would be told. */
static int way_mqnotify(char **args)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGNO };
	mqd_t queue = mq_open(args[2], O_RDONLY | O_NONBLOCK);

	return queue < 0 ? errno : outcome(mq_notify(queue, &event));
}

static const struct way ways[] = {
	{ "kill", way_kill },
	{ "tkill", way_tkill },
	{ "tgkill", way_tgkill },
	{ "group", way_group },
	{ "all", way_all },
	{ "queue", way_queue },
	{ "tgqueue", way_tgqueue },
	{ "pidfd", way_pidfd },
	{ "setown", way_setown },
	{ "setown-group", way_setown_group },
	{ "setown-ex", way_setown_ex },
	{ "fiosetown", way_fiosetown },
	{ "siocspgrp", way_siocspgrp },
	{ "pipe", way_pipe },
	{ "fork", way_fork },
	{ "dnotify", way_dnotify },
	{ "urgent", way_urgent },
	{ "timer", way_timer },
	{ "cputimer", way_cputimer },
	{ "mqnotify", way_mqnotify },
};

int probe_sig(char **args)
{
	return by_way(ways, sizeof(ways) / sizeof(ways[0]), args);
}
