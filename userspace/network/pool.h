/* SPDX-License-Identifier: GPL-2.0-only */
/* The private addresses of the links, computed from the Bench's number. */
#ifndef BENCHMON_POOL_H
#define BENCHMON_POOL_H

#include <stdint.h>
#include <sys/socket.h>

/* fd62:656e:6368::/48: "bench" as the identifier of a unique local prefix (RFC 4193). */
#define BM_POOL6_PREFIX 0xfd, 0x62, 0x65, 0x6e, 0x63, 0x68
#define BM_POOL6_TEXT "fd62:656e:6368::/48"
/* 10.209.0.0/16, 32768 pairs: two Benches may meet in one, which bm_link_setup() refuses. */
#define BM_POOL4_PREFIX 10, 209
#define BM_POOL4_TEXT "10.209.0.0/16"

/* Both ends of a /31 or /127. */
struct bm_pair {
	int family;
	uint8_t len; /* bytes of an address */
	uint8_t prefix;
	uint8_t host[16];
	uint8_t bench[16];
};

struct bm_pair bm_pool_pair(int family, uint32_t bench);

#endif
