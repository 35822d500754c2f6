/* SPDX-License-Identifier: GPL-2.0-only */
/* One destination, and which ones may never be sealed. */
#ifndef BENCHMON_ADDRESS_H
#define BENCHMON_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* IPv4 as ::ffff:a.b.c.d, as in struct bm_dest_key. */
struct bm_destination {
	uint8_t address[16];
	uint16_t port;    /* host byte order, never 0 */
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	bool listens; /* the other way: the port is the Bench's own, and the address its peer's */
};

/* "[" ADDRESS "]:65535/tcp" */
#define BM_DESTINATION_LEN 64

bool bm_destination_is_v4(const struct bm_destination *d);
bool bm_destination_equal(const struct bm_destination *a, const struct bm_destination *b);

/*
 * Parses ADDR:PORT or [ADDR6]:PORT, with /tcp (the default) or /udp behind it. -EINVAL with what
 * is wrong and where: a host name, a scope (%eth0), a port out of range, leading zeros, bytes
 * that do not belong there.
 */
int bm_destination_parse(const char *text, struct bm_destination *ret, struct bm_error *err);

/*
 * -EPERM for what no profile may hold: unspecified, loopback, link-local, multicast, broadcast
 * and metadata addresses, v4-mapped or -embedded forms of them; private ones (RFC 1918, RFC 6598,
 * unique local) unless allow_private says that this very address is meant.
 */
int bm_destination_check(const struct bm_destination *d, bool allow_private, struct bm_error *err);

/* What no peer's address is ("a multicast address"), or NULL. */
const char *bm_address_never(const struct bm_destination *d);

/* "198.51.100.10:80/tcp", "[2001:db8::1]:443/tcp"; returns buf. */
const char *bm_destination_format(const struct bm_destination *d, char buf[BM_DESTINATION_LEN]);

#endif
