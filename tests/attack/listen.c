// SPDX-License-Identifier: GPL-2.0-only
/* Out by a port that others may connect to. */
#include "net.h"

#include <stdlib.h>
#include <string.h>

static int bound(const char *port, const struct sockaddr_storage *to, int type, int protocol)
{
	struct sockaddr_storage own;
	socklen_t len = address_of(&own, to->ss_family == AF_INET ? "0.0.0.0" : "::", port);
	int fd = socket_to(to, type, protocol), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	return bind(fd, (struct sockaddr *)&own, len) < 0 ? -1 : fd;
}

int probe_by(char **args)
{
	const char *how = args[3] ? args[3] : "";
	bool udp = !strncmp(how, "udp", 3);
	struct sockaddr_storage to;
	socklen_t len = address_of(&to, args[1], args[2]);
	int fd = bound(args[0], &to, udp ? SOCK_DGRAM : SOCK_STREAM,
		       strcmp(how, "mptcp") ? 0 : IPPROTO_MPTCP);

	if (fd < 0)
		return setup("bind");
	if (!strcmp(how, "fastopen") || !strcmp(how, "udp"))
		return sendto(fd, "x", 1, MSG_NOSIGNAL | (udp ? 0 : MSG_FASTOPEN),
			      (struct sockaddr *)&to, len) < 0
			       ? net_errno()
			       : answered(fd);
	return connect(fd, (struct sockaddr *)&to, len) < 0 ? net_errno() : said(fd);
}
