/* SPDX-License-Identifier: GPL-2.0-only */
/* The rtnetlink messages that a link needs. All return 0 or -errno, silently. */
#ifndef BENCHMON_RTNL_H
#define BENCHMON_RTNL_H

#include <stdbool.h>
#include <stdint.h>

#include "network/address.h"
#include "network/netlink.h"
#include "network/pool.h"

/*
 * The interface group ("bm") of every host end. It is given with the creation, so that no crash
 * leaves a link that nobody knows for ours, and nft matches it without a guess at names.
 */
#define BM_LINK_GROUP 0x626d

struct bm_interface {
	int index;
	unsigned int flags; /* IFF_* */
	uint32_t group;
	int peer;      /* IFLA_LINK: a veth's other end, an index in its namespace; 0: none */
	int peer_nsid; /* that namespace as this one numbers it; -1: this one */
	char name[16];
	char kind[16]; /* "veth"; "" for hardware */
};

struct bm_route {
	int type; /* RTN_UNICAST, RTN_LOCAL ... */
	int oif;
};

/* -ENODEV when there is none of that name, or index. */
int bm_rtnl_interface(struct mnl_socket *s, const char *name, struct bm_interface *ret);
int bm_rtnl_interface_at(struct mnl_socket *s, int index, struct bm_interface *ret);
/* Calls fn for each until it returns other than 0, which is then returned. It may be called
 * again for the same ones, after reset(arg), when they change meanwhile. */
int bm_rtnl_interfaces(struct mnl_socket *s, int (*fn)(const struct bm_interface *i, void *arg),
		       void (*reset)(void *arg), void *arg);
/* What number the namespace behind netns has in that of s; -1 for none. */
int bm_rtnl_nsid(struct mnl_socket *s, int netns, int *ret);

/* A pair, both ends down; `peer` in the namespace behind netns. */
int bm_rtnl_veth(struct mnl_socket *s, const char *name, const char *peer, int netns);
int bm_rtnl_up(struct mnl_socket *s, int index);
int bm_rtnl_delete(struct mnl_socket *s, int index);
/* Idempotent: host or Bench end of the pair; the route is the Bench's default via the host end. */
int bm_rtnl_address(struct mnl_socket *s, int index, const struct bm_pair *pair, bool host);
int bm_rtnl_default_route(struct mnl_socket *s, int index, const struct bm_pair *pair);

int bm_rtnl_route_to(struct mnl_socket *s, const struct bm_destination *d, struct bm_route *ret);
struct bm_clash {
	bool found;
	uint8_t address[16]; /* of the pair's family */
	uint8_t prefix;
	int oif; /* 0: a route without an interface */
};

/*
 * Finds an address or route of another interface than index that the pair would take packets
 * from: one for a network no wider than the pool.
 */
int bm_rtnl_clash(struct mnl_socket *s, const struct bm_pair *pair, int index,
		  struct bm_clash *ret);

#endif
