// SPDX-License-Identifier: GPL-2.0-only
/* What is done to a file through its descriptor, and descriptors that come from outside. */
#include "payload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/fs.h>

#define IOCTL_32 54
/*
 * A FIFO that `send` reads, and where who has written to it listens; both in the Bench's own file
 * system. It is the outside that connects: nobody in a Bench connects out.
 */
#define SENDER "/work/sender"
#define RECEIVER "/work/receiver"

int probe_ioctl(char **args)
{
	int fd = open(args[0], O_RDONLY);
	int flags = FS_NODUMP_FL;

	if (fd < 0)
		return setup(args[0]);
	if (!strcmp(args[1], "get"))
		return outcome(ioctl(fd, FS_IOC_GETFLAGS, &flags));
	if (!strcmp(args[1], "set"))
		return outcome(ioctl(fd, FS_IOC_SETFLAGS, &flags));
	if (!strcmp(args[1], "asks")) /* what any libc asks of any file */
		return outcome(ioctl(fd, FIONREAD, &flags));
	return setup("no such request");
}

int probe_ioctl32(char **args)
{
	int fd = open(args[0], O_RDONLY);
	char *flags = low_string("");
	long r;

	if (fd < 0 || !flags)
		return setup(args[0]);
	r = call32(IOCTL_32, fd, FS_IOC32_GETFLAGS, (long)flags);
	return r < 0 ? (int)-r : 0;
}

/* 0 also when only the file system can't: then nothing had refused. */
int probe_clone(char **args)
{
	int from = open(args[0], O_RDONLY), to = open(args[1], args[2] ? O_WRONLY : O_RDONLY);

	if (from < 0 || to < 0)
		return setup(args[1]);
	return ioctl(to, FICLONE, from) < 0 && errno != EOPNOTSUPP ? errno : 0;
}

int probe_flock(char **args)
{
	int fd = open(args[0], O_RDONLY);

	return fd < 0 ? setup(args[0])
		      : outcome(flock(fd, (args[1] ? LOCK_EX : LOCK_SH) | LOCK_NB));
}

int probe_lock(char **args)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = open(args[0], O_RDONLY);

	return fd < 0 ? setup(args[0]) : outcome(fcntl(fd, args[1] ? F_OFD_SETLK : F_SETLK, &lock));
}

int probe_lease(char **args)
{
	int fd = open(args[0], O_RDONLY);

	return fd < 0 ? setup(args[0]) : outcome(fcntl(fd, F_SETLEASE, F_RDLCK));
}

int probe_dnotify(char **args)
{
	int fd = open(args[0], O_RDONLY | O_DIRECTORY);

	return fd < 0 ? setup(args[0]) : outcome(fcntl(fd, F_NOTIFY, DN_ACCESS | DN_MULTISHOT));
}

static int flags_of(const char *mode)
{
	return !strcmp(mode, "opath") ? O_PATH : !strcmp(mode, "rw") ? O_RDWR : O_RDONLY;
}

static int unix_socket(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strncpy(address->sun_path, path, sizeof(address->sun_path) - 1);
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

long send_fd(int to, int fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { "x", 1 };
	struct msghdr message = { .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(to, &message, 0);
}

static int described(const char *mode, const char *path)
{
	return !strcmp(mode, "socket") ? socket(AF_INET, SOCK_STREAM, 0)
				       : open(path, flags_of(mode));
}

static void answer(const char *receiver, char *line)
{
	char *path = line, *mode = strsep(&path, " ");
	struct sockaddr_un address;
	int fd = path ? described(mode, path) : -1, to = unix_socket(receiver, &address);

	if (fd < 0 || connect(to, (struct sockaddr *)&address, sizeof(address)) < 0)
		setup(line);
	else if (send_fd(to, fd) < 0)
		setup("sendmsg");
	close(fd);
	close(to);
}

/* Outside: whoever writes "MODE PATH" to the FIFO DIR/sender gets a descriptor at DIR/receiver. */
int tool_send(char **args)
{
	char sender[100], receiver[100], line[512];
	FILE *requests;

	snprintf(sender, sizeof(sender), "%s/sender", args[0]);
	snprintf(receiver, sizeof(receiver), "%s/receiver", args[0]);
	/* Read and write: there is no end of it when a writer closes. */
	if (mkfifo(sender, 0) < 0 || chmod(sender, 0666) < 0 || !(requests = fopen(sender, "r+")))
		return setup(sender);
	puts("sending");
	fflush(stdout);
	while (fgets(line, sizeof(line), requests)) {
		line[strcspn(line, "\n")] = '\0';
		answer(receiver, line);
	}
	return setup("fgets");
}

/* The kernel does not say why a descriptor was left out, only that it was: EACCES stands for it. */
int take_fd(int from, int *ret_fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	if (recvmsg(from, &message, 0) != 1)
		return setup("recvmsg");
	if (!CMSG_FIRSTHDR(&message))
		return message.msg_flags & MSG_CTRUNC ? EACCES : setup("no descriptor was sent");
	memcpy(ret_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(*ret_fd));
	return 0;
}

int receive_fd(int from)
{
	int fd;

	return take_fd(from, &fd);
}

int probe_receive(char **args)
{
	struct sockaddr_un address;
	int listener = unix_socket(RECEIVER, &address), to = open(SENDER, O_WRONLY), from;

	unlink(RECEIVER);
	if (to < 0 || listener < 0 ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 1) < 0 || dprintf(to, "%s %s\n", args[0], args[1]) < 0)
		return setup("sender");
	from = accept(listener, NULL, NULL);
	return from < 0 ? setup("accept") : receive_fd(from);
}

/* A socket of its own, by a socket of its own. */
int probe_pass(char **args)
{
	int pair[2], fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)args;
	if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return setup("socket");
	if (send_fd(pair[0], fd) < 0)
		return setup("sendmsg");
	return receive_fd(pair[1]);
}

/* A watch of its own, parked in a socket of its own, where nobody would find it. */
int probe_park(char **args)
{
	int pair[2], fd = inotify_init1(0);

	if (fd < 0 || inotify_add_watch(fd, args[0], IN_ALL_EVENTS) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return setup(args[0]);
	return send_fd(pair[0], fd) < 0 ? setup("sendmsg") : receive_fd(pair[1]);
}
