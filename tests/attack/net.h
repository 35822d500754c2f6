/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_TESTS_NET_H
#define BENCHMON_TESTS_NET_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "payload.h"

#define PATIENCE_MS 700

/* ADDRESS and PORT as text; 0 when it is neither IPv4 nor IPv6. */
socklen_t address_of(struct sockaddr_storage *ss, const char *address, const char *port);
int socket_to(const struct sockaddr_storage *ss, int type, int protocol);
int net_errno(void);
int answered(int fd); /* 0 when something came in */
int said(int fd);     /* the same after sending a byte */

#endif
