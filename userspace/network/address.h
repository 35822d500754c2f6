/* SPDX-License-Identifier: GPL-2.0-only */
/* One destination, and which ones may never be sealed. */
#ifndef BENCHMON_ADDRESS_H
#define BENCHMON_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
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
/* As memcmp: an order in which the ports of one address stand together, and all IPv4. */
int bm_destination_compare(const struct bm_destination *a, const struct bm_destination *b);
/* Into that order, each once; how many are left. */
size_t bm_destinations_sort(struct bm_destination *list, size_t count);
/* In a list so sorted. */
bool bm_destinations_have(const struct bm_destination *list, size_t count,
			  const struct bm_destination *d);

/*
 * Parses ADDR:PORT or [ADDR6]:PORT, with /tcp (the default) or /udp behind it. -EINVAL with what
 * is wrong and where: a host name, a scope (%eth0), a port out of range, leading zeros, bytes
 * that do not belong there.
 */
int bm_destination_parse(const char *text, struct bm_destination *ret, struct bm_error *err);

/*
 * Whether a host's name stands before the port, right or wrong: nothing that is or is meant as an
 * address. len bytes.
 */
bool bm_destination_is_name(const char *text, size_t len);
/*
 * Takes HOST:PORT[/tcp|/udp] apart. HOST, the first *ret_host_len bytes, is not looked at. -EINVAL
 * as above; NULs among the len bytes are seen.
 */
int bm_destination_split(const char *text, size_t len, size_t *ret_host_len, uint16_t *ret_port,
			 uint8_t *ret_protocol, struct bm_error *err);

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
