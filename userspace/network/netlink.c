// SPDX-License-Identifier: GPL-2.0-only
#include "network/netlink.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "confine/confine.h"

#define TIMEOUT_S 10
#define DUMP_TRIES 20

struct enter {
	int netns;
	int bus;
	int (*fn)(void *arg, struct bm_error *err);
	void *arg;
};

static int enter(const struct enter *e, struct bm_error *err)
{
	/* Below 0: it is the caller itself, and the host's network. */
	int r = e->netns >= 0 ? bm_confine(BM_CONFINE_NETWORK, err) : 0;

	if (r < 0)
		return r;
	if (e->netns >= 0 && setns(e->netns, CLONE_NEWNET) < 0)
		return bm_fail_errno(err, errno, "entering the Bench's network namespace");
	return 0;
}

static int open_socket(void *arg, int *ret_fd, struct bm_error *err)
{
	/* Nothing answers a message that the kernel dropped, and a daemon must not wait for it. */
	struct timeval timeout = { .tv_sec = TIMEOUT_S };
	const struct enter *e = arg;
	autoclose fd = -1;
	int r, on = 1;

	r = enter(e, err);
	if (r < 0)
		return r;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, e->bus);
	if (fd < 0 || bind(fd, (struct sockaddr *)&(struct sockaddr_nl){ .nl_family = AF_NETLINK },
			   sizeof(struct sockaddr_nl)) < 0)
		return bm_fail_errno(err, errno, "netlink socket of protocol %d", e->bus);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int bm_netlink_open(int netns, int bus, struct mnl_socket **ret, struct bm_error *err)
{
	struct enter e = { .netns = netns, .bus = bus };
	struct mnl_socket *s;
	autoclose fd = -1;
	int r, got = -1;

	r = netns < 0 ? open_socket(&e, &got, err) : bm_helper(open_socket, &e, &got, err);
	fd = got;
	if (r < 0)
		return r;
	s = fd < 0 ? NULL : mnl_socket_fdopen(fd);
	if (!s)
		return bm_fail_errno(err, fd < 0 ? EBADF : errno, "netlink socket");
	TAKE_FD(fd);
	*ret = s;
	return 0;
}

static int run_inside(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct enter *e = arg;
	int r = enter(e, err);

	(void)ret_fd;
	return r < 0 ? r : e->fn(e->arg, err);
}

int bm_netns_run(int netns, int (*fn)(void *arg, struct bm_error *err), void *arg,
		 struct bm_error *err)
{
	struct enter e = { .netns = netns, .fn = fn, .arg = arg };

	return bm_helper(run_inside, &e, NULL, err);
}

unsigned int bm_netlink_seq(void)
{
	static atomic_uint seq = 1;

	return atomic_fetch_add(&seq, 1);
}

static int talk(struct mnl_socket *s, struct nlmsghdr *request, mnl_cb_t cb, void *arg)
{
	autofree char *buf = malloc(BM_NETLINK_BUFFER);
	int r = MNL_CB_OK;

	if (!buf)
		return -ENOMEM;
	request->nlmsg_seq = bm_netlink_seq();
	if (mnl_socket_sendto(s, request, request->nlmsg_len) < 0)
		return -errno;
	while (r > MNL_CB_STOP) {
		ssize_t n = mnl_socket_recvfrom(s, buf, BM_NETLINK_BUFFER);

		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		r = mnl_cb_run(buf, (size_t)n, request->nlmsg_seq, mnl_socket_get_portid(s), cb,
			       arg);
	}
	return r < 0 ? -errno : 0;
}

int bm_netlink_ask(struct mnl_socket *s, struct nlmsghdr *request, mnl_cb_t cb, void *arg)
{
	/* The reply to a get does not end the exchange; its acknowledgement does. */
	request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	return talk(s, request, cb, arg);
}

/* The rest of a dump that is given up, so that it is not taken for the answer to the next. */
static void drain(struct mnl_socket *s)
{
	char buf[4096];

	while (recv(mnl_socket_get_fd(s), buf, sizeof(buf), MSG_DONTWAIT | MSG_TRUNC) > 0)
		;
}

int bm_netlink_dump(struct mnl_socket *s, struct nlmsghdr *request, mnl_cb_t cb, void *arg,
		    void (*reset)(void *arg))
{
	int r = -EINTR;

	request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_DUMP;
	for (int i = 0; r == -EINTR && i < DUMP_TRIES; i++) {
		if (i)
			drain(s);
		if (reset)
			reset(arg);
		r = talk(s, request, cb, arg);
	}
	return r;
}
