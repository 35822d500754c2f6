/* SPDX-License-Identifier: GPL-2.0-only */
/* A netlink socket in any network namespace, and one question asked over it. */
#ifndef BENCHMON_NETLINK_H
#define BENCHMON_NETLINK_H

#include <libmnl/libmnl.h>

#include "base/error.h"

#define BM_NETLINK_BUFFER 32768

/*
 * Opens a socket of the bus (NETLINK_ROUTE, NETLINK_NETFILTER) in the namespace behind netns, or
 * in the caller's own for -1. A netlink socket stays where it was made, so only the forked helper
 * that makes it ever enters the namespace.
 */
int bm_netlink_open(int netns, int bus, struct mnl_socket **ret, struct bm_error *err);

static inline void bm_netlink_closep(struct mnl_socket **s)
{
	if (*s)
		mnl_socket_close(*s);
}

#define autonetlink __attribute__((cleanup(bm_netlink_closep))) struct mnl_socket

/*
 * Sends one request and reads all that answers it. A dump calls cb for each object (and starts
 * over, with reset first, when the kernel says that it changed meanwhile); anything else is
 * acknowledged. 0 or -errno, silently: the caller knows what it asked for.
 */
int bm_netlink_ask(struct mnl_socket *s, struct nlmsghdr *request, mnl_cb_t cb, void *arg);
int bm_netlink_dump(struct mnl_socket *s, struct nlmsghdr *request, mnl_cb_t cb, void *arg,
		    void (*reset)(void *arg));

/* Runs fn(arg, err) in a helper inside the namespace, which thereby sees its /proc/sys/net. */
int bm_netns_run(int netns, int (*fn)(void *arg, struct bm_error *err), void *arg,
		 struct bm_error *err);

/* An unused number for nlmsg_seq. */
unsigned int bm_netlink_seq(void);

#endif
