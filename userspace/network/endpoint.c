// SPDX-License-Identifier: GPL-2.0-only
#include "network/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "confine/confine.h"

#define BACKLOG 128

static const uint8_t prefix[15] = { [10] = 0xff, 0xff, BM_ENDPOINT_PREFIX };

struct bm_destination bm_endpoint(unsigned number)
{
	struct bm_destination d = { .port = BM_ENDPOINT_PORT, .protocol = IPPROTO_TCP };

	memcpy(d.address, prefix, sizeof(prefix));
	d.address[15] = (uint8_t)number;
	return d;
}

bool bm_endpoint_range(const struct bm_destination *d)
{
	return !memcmp(d->address, prefix, sizeof(prefix));
}

bool bm_endpoint_is(const struct bm_destination *d)
{
	return bm_endpoint_range(d) && d->port == BM_ENDPOINT_PORT && d->protocol == IPPROTO_TCP &&
	       !d->listens && d->address[15] && d->address[15] <= BM_ENDPOINTS;
}

static int fail_busy(const struct bm_destination *endpoint, int error, struct bm_error *err)
{
	char text[BM_DESTINATION_LEN];

	if (error != EADDRINUSE)
		return bm_fail_errno(err, error, "listening at %s",
				     bm_destination_format(endpoint, text));
	return bm_fail(err, EADDRINUSE, "broker-endpoint",
		       "end what listens in the Bench on port 80 of every address, or of that one",
		       "%s is where the broker is to listen, and a socket of the Bench has it",
		       bm_destination_format(endpoint, text));
}

struct place {
	int netns;
	const struct bm_destination *endpoint;
};

static int open_inside(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct place *place = arg;
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(place->endpoint->port) };
	autoclose fd = -1;
	int r = bm_confine(BM_CONFINE_NETWORK, err), on = 1;

	if (r < 0)
		return r;
	if (setns(place->netns, CLONE_NEWNET) < 0)
		return bm_fail_errno(err, errno, "entering the Bench's network namespace");
	memcpy(&in.sin_addr, place->endpoint->address + 12, sizeof(in.sin_addr));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return bm_fail_errno(err, errno, "socket");
	/* Connections of a broker that has ended still have the port, for a minute. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(fd, BACKLOG) < 0)
		return fail_busy(place->endpoint, errno, err);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int bm_endpoint_open(int netns, const struct bm_destination *endpoint, int *ret_fd,
		     struct bm_error *err)
{
	struct place place = { netns, endpoint };

	return bm_helper(open_inside, &place, ret_fd, err);
}

int bm_endpoint_shut(int fd, struct bm_error *err)
{
	/* Of a listening socket it ends the listening, and leaves it bound. */
	if (shutdown(fd, SHUT_RD) == 0 || errno == ENOTCONN)
		return 0;
	return bm_fail_errno(err, errno, "shut the broker's socket");
}

int bm_endpoint_reopen(int fd, const struct bm_destination *endpoint, struct bm_error *err)
{
	return listen(fd, BACKLOG) < 0 ? fail_busy(endpoint, errno, err) : 0;
}
