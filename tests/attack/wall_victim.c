// SPDX-License-Identifier: GPL-2.0-only
/* Outside of every Bench: somebody with all that can be reached, who says what came. */
#include "payload.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static socklen_t address_of(const char *dir, const char *name, struct sockaddr_un *address)
{
	int size;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	size = snprintf(address->sun_path, sizeof(address->sun_path), "%s%s", dir, name);
	if (address->sun_path[0] == '@')
		address->sun_path[0] = '\0';
	else
		size++;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)size);
}

static int serve(int type, const char *dir, const char *name)
{
	struct sockaddr_un address;
	socklen_t size = address_of(dir, name, &address);
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
	    (type != SOCK_DGRAM && listen(fd, 64) < 0))
		return -1;
	if (address.sun_path[0])
		chmod(address.sun_path, 0777);
	return fd;
}

/*
 * KEY DIR...: makes SysV objects of KEY, a queue /bm-KEY, and in each DIR (or as @NAME) the
 * sockets DIR/stream, DIR/seqpacket and DIR/dgram. Prints "shm N", "sem N", "msg N", "ready PID",
 * then all that comes: "signal N", "stream", "dgram", "message".
 */
int tool_victim(char **args)
{
	key_t key = number(args[0]);
	struct pollfd fds[32] = {};
	struct signalfd_siginfo info;
	char queue[32], text[8192];
	sigset_t all;
	nfds_t count = 0;
	int shm, sem, msg;
	mqd_t mq;

	sigfillset(&all);
	sigdelset(&all, SIGTERM);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	umask(0);
	snprintf(queue, sizeof(queue), "/bm-%d", key);
	shm = shmget(key, 4096, IPC_CREAT | 0666);
	sem = semget(key, 1, IPC_CREAT | 0666);
	msg = msgget(key, IPC_CREAT | 0666);
	mq = mq_open(queue, O_RDWR | O_CREAT | O_NONBLOCK, 0666, NULL);
	if (setpgid(0, 0) < 0 || shm < 0 || sem < 0 || msg < 0 || mq < 0 ||
	    shmat(shm, NULL, 0) == (void *)-1)
		return setup("ipc");
	fds[count++].fd = signalfd(-1, &all, SFD_NONBLOCK);
	fds[count++].fd = mq;
	for (char **dir = args + 1; *dir; dir++) {
		fds[count++].fd = serve(SOCK_STREAM, *dir, "/stream");
		fds[count++].fd = serve(SOCK_SEQPACKET, *dir, "/seqpacket");
		fds[count++].fd = serve(SOCK_DGRAM, *dir, "/dgram");
	}
	for (nfds_t i = 0; i < count; i++) {
		fds[i].events = POLLIN;
		if (fds[i].fd < 0)
			return setup("socket");
	}
	printf("shm %d\nsem %d\nmsg %d\nready %d\n", shm, sem, msg, getpid());
	while (poll(fds, count, -1) > 0) {
		while (read(fds[0].fd, &info, sizeof(info)) == sizeof(info))
			printf("signal %u\n", info.ssi_signo);
		while (mq_receive(mq, text, sizeof(text), NULL) >= 0)
			puts("message");
		for (nfds_t i = 2; i < count; i++) {
			int fd = (i - 2) % 3 == 2 ? -1 : accept(fds[i].fd, NULL, NULL);

			if (fd >= 0)
				puts("stream");
			close(fd);
			while ((i - 2) % 3 == 2 && recv(fds[i].fd, text, sizeof(text), 0) >= 0)
				puts("dgram");
		}
	}
	return setup("poll");
}

static int carried_of(const char *kind, const char *path)
{
	struct sockaddr_un address;
	socklen_t size = address_of(path, "", &address);
	int fd;

	if (!strcmp(kind, "dir"))
		return open(path, O_RDONLY | O_DIRECTORY);
	if (!strcmp(kind, "dgram"))
		return socket(AF_UNIX, SOCK_DGRAM, 0);
	if (!strcmp(kind, "listener"))
		return serve(SOCK_STREAM, path, "");
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (serve(SOCK_STREAM, path, "") < 0 || connect(fd, (struct sockaddr *)&address, size) < 0)
		return -1;
	return fd;
}

/*
 * stream|dgram|listener|dir PATH COMMAND...: the command's stdin is a unix socket, and in it comes
 * a descriptor: a stream connected to a listener at PATH, a datagram socket, a listener at PATH,
 * the directory PATH.
 */
int tool_carry(char **args)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { (char *)"x", 1 };
	struct msghdr message = { .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int pair[2], fd = carried_of(args[0], args[1]), status;
	pid_t pid;

	if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return setup(args[1]);
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(pair[0], &message, 0) != 1)
		return setup("sendmsg");
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		dup2(pair[1], 0);
		execvp(args[2], args + 2);
		_exit(setup(args[2]));
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return setup(args[2]);
	return WEXITSTATUS(status);
}
