/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a broker listens: a loopback address in the network of the Bench, out of a range that is
 * kept for that. To the Bench it is a destination like another; nothing of its own is there.
 */
#ifndef BENCHMON_ENDPOINT_H
#define BENCHMON_ENDPOINT_H

#include "base/error.h"
#include "network/address.h"

#define BM_ENDPOINT_NETWORK "127.98.109.0/24"
#define BM_ENDPOINT_PREFIX 127, 98, 109
#define BM_ENDPOINT_PORT 80
#define BM_ENDPOINTS 254

/* From 1 to BM_ENDPOINTS. */
struct bm_destination bm_endpoint(unsigned number);
/* Whether it lies in the range, and is no other port or protocol than an endpoint's. */
bool bm_endpoint_is(const struct bm_destination *d);
/* The same before the port is looked at: nothing of the range is a Bench's own. */
bool bm_endpoint_range(const struct bm_destination *d);

/*
 * A socket that listens there, made inside the namespace. -EADDRINUSE: something of the Bench has
 * the port.
 */
int bm_endpoint_open(int netns, const struct bm_destination *endpoint, int *ret_fd,
		     struct bm_error *err);
/* Nobody can connect any more, who waited is reset, and the address stays taken; and back again. */
int bm_endpoint_shut(int fd, struct bm_error *err);
int bm_endpoint_reopen(int fd, const struct bm_destination *endpoint, struct bm_error *err);

#endif
