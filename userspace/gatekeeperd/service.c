// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"

/* The first that a manager hands over. */
#define LISTEN_FD 3

/* The number that name holds and nothing else; -1. */
static long number_of(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long n;

	if (!text || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	n = strtol(text, &end, 10);
	return errno || *end ? -1 : n;
}

static int option_of(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

static int refuse(struct bm_error *err, const char *why)
{
	return bm_fail(err, EINVAL, "socket-activation",
		       "use gatekeeperd.socket as it was installed",
		       "the service manager handed over %s", why);
}

static int take_listener(int *ret, struct bm_error *err)
{
	struct sockaddr_un address = {};
	socklen_t len = sizeof(address);
	long count = number_of("LISTEN_FDS");

	/* It may have been meant for the process that has started us. */
	if (number_of("LISTEN_PID") != getpid() || !getenv("LISTEN_FDS"))
		return 0;
	if (count != 1) {
		char why[64], shown[32];

		snprintf(why, sizeof(why), "%s sockets, not one",
			 bm_escape(getenv("LISTEN_FDS"), shown, sizeof(shown)));
		return refuse(err, why);
	}
	if (option_of(LISTEN_FD, SO_DOMAIN) != AF_UNIX)
		return refuse(err, "what is no AF_UNIX socket");
	if (option_of(LISTEN_FD, SO_TYPE) != SOCK_SEQPACKET)
		return refuse(err, "a socket of another type than SOCK_SEQPACKET");
	if (option_of(LISTEN_FD, SO_ACCEPTCONN) != 1)
		return refuse(err, "a socket that doesn't listen");
	/* One without a path has no mode, and whoever likes connects to it. */
	if (getsockname(LISTEN_FD, (struct sockaddr *)&address, &len) < 0 ||
	    len <= offsetof(struct sockaddr_un, sun_path) || !address.sun_path[0])
		return refuse(err, "a socket that has no path");
	if (fcntl(LISTEN_FD, F_SETFD, FD_CLOEXEC) < 0 || fcntl(LISTEN_FD, F_SETFL, O_NONBLOCK) < 0)
		return bm_fail_errno(err, errno, "the socket of the service manager");
	*ret = LISTEN_FD;
	return 0;
}

static int connect_notify(int *ret, struct bm_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	socklen_t len;
	autoclose fd = -1;
	char shown[128];
	size_t n;

	if (!path || !*path)
		return 0;
	n = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof(address.sun_path))
		return bm_fail(err, EINVAL, "notify-socket", "leave NOTIFY_SOCKET to systemd",
			       "NOTIFY_SOCKET=%s: neither a path nor an abstract name",
			       bm_escape(path, shown, sizeof(shown)));
	memcpy(address.sun_path, path, n);
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	else
		len++;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, len) < 0)
		return bm_fail_errno(err, errno, "NOTIFY_SOCKET=%s",
				     bm_escape(path, shown, sizeof(shown)));
	*ret = TAKE_FD(fd);
	return 0;
}

int service_begin(struct service *ret, struct bm_error *err)
{
	static const char *const names[] = { "NOTIFY_SOCKET",  "LISTEN_PID",   "LISTEN_FDS",
					     "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC" };
	struct service service = SERVICE_NONE;
	int r = take_listener(&service.listener, err);

	if (r == 0)
		r = connect_notify(&service.notify, err);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	if (r < 0) {
		service_end(&service);
		return r;
	}
	*ret = service;
	return 0;
}

void service_end(struct service *service)
{
	bm_close(service->notify);
	bm_close(service->listener);
	*service = SERVICE_NONE;
}

void service_tell(const struct service *service, const char *state)
{
	if (service->notify >= 0)
		(void)!send(service->notify, state, strlen(state), MSG_NOSIGNAL);
}
