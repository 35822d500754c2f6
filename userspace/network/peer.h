/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may open connections to a port of a Bench: one address, and no prefix. */
#ifndef BENCHMON_PEER_H
#define BENCHMON_PEER_H

#include <netinet/in.h>

#include "network/address.h"

/*
 * An IPv4 or IPv6 address alone into ret, whose port and protocol stay as they are. -EINVAL with
 * what is wrong: a name, a prefix, a scope; -EPERM: an address that is nobody's, or not one
 * machine's alone.
 */
int bm_peer_parse(const char *text, struct bm_destination *ret, struct bm_error *err);

/* Returns buf. */
const char *bm_peer_format(const struct bm_destination *d, char buf[INET6_ADDRSTRLEN]);

/* The ends of a Bench's link (link.h), as addresses alone. */
void bm_peer_of_link(uint32_t bench, bool v4, bool host, struct bm_destination *ret);

#endif
