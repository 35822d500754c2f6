/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way out of a Bench that has a network namespace of its own with nothing but loopback in it:
 * a veth pair, made with its first net grant and removed with its last.
 */
#ifndef BENCHMON_LINK_H
#define BENCHMON_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "network/address.h"
#include "network/nft.h"

/*
 * For a Bench in a namespace that is others' too: 0 when a packet from there to each of the list
 * goes to one machine, and that is no Bench. Of several, some may have no route at all.
 */
int bm_link_reachable(int netns, const struct bm_destination *list, size_t count,
		      struct bm_error *err);

/* True when the namespace holds an interface other than loopback and our own veth. */
int bm_link_foreign(int netns, uint32_t bench, bool *ret, struct bm_error *err);

/*
 * Makes the pair (host end "bm<bench>", Bench end "eth0"), its addresses from the pool, a default
 * route in the Bench, NAT and forwarding for the host end alone. Called again for more destinations
 * it adds what these need (an address family, an uplink). Of several, some may have no route; what
 * is wrong with any other is found before anything is changed. Idempotent. On failure a link that
 * it has made is gone again. Nothing happens for an empty list. bm_nft_setup() of the Bench's own
 * table comes first. The one at the host's end is made before there is a link, and lets nothing
 * through until bm_nft_add(). All of the list may come in instead (listens): then each is the host.
 */
int bm_link_setup(int netns, uint32_t bench, const struct bm_destination *list, size_t count,
		  struct bm_error *err);

/* 0 when bm_link_setup() has a way for d. -ENETUNREACH or -EHOSTUNREACH: the host has none itself;
 * -EOPNOTSUPP: it would have to forward IPv6. */
int bm_link_possible(const struct bm_destination *d, struct bm_error *err);

/* 0 when d is the host's end of that link, there or not, or another address of the host's: who else
 * could come to a port of the Bench's? -EPERM. */
int bm_link_peer(uint32_t bench, const struct bm_destination *d, struct bm_error *err);

/* The table of the link's end on the host (nft.h): made and removed with the link. */
struct bm_nft bm_link_nft(uint32_t bench);
/* True while the link is there. */
bool bm_link_there(uint32_t bench);
/* True when some Bench has a link; ret gets the name of one. */
bool bm_link_any(char ret[16]);
/* The family (AF_*) of the first of the list that packets are forwarded to, so that they meet what
 * others have to say of that. AF_UNSPEC: none. */
int bm_link_beyond(const struct bm_destination *list, size_t count);

/* Takes all of it back, and what bm_link_setup changed on the host once no Bench is left that
 * needs it. 0 also when it was not there. */
int bm_link_destroy(uint32_t bench, struct bm_error *err);

#endif
