/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a broker listens: a loopback address in the network of the Bench, out of a range that is
 * kept for that. To the Bench it is a destination like another; nothing of its own is there.
 */
#ifndef BENCHMON_DOOR_H
#define BENCHMON_DOOR_H

#include "base/error.h"
#include "network/address.h"

#define BM_DOOR_NETWORK "127.98.109.0/24"
#define BM_DOOR_PREFIX 127, 98, 109
#define BM_DOOR_PORT 80
#define BM_DOORS 254

/* From 1 to BM_DOORS. */
struct bm_destination bm_door(unsigned number);
/* Whether it lies in the range, and is no other port or protocol than a door's. */
bool bm_door_is(const struct bm_destination *d);
/* The same before the port is looked at: nothing of the range is a Bench's own. */
bool bm_door_range(const struct bm_destination *d);

/*
 * A socket that listens there, made inside the namespace. -EADDRINUSE: something of the Bench has
 * the port.
 */
int bm_door_open(int netns, const struct bm_destination *door, int *ret_fd, struct bm_error *err);
/* Nobody can connect any more, who waited is reset, and the address stays taken; and back again. */
int bm_door_shut(int fd, struct bm_error *err);
int bm_door_reopen(int fd, const struct bm_destination *door, struct bm_error *err);

#endif
