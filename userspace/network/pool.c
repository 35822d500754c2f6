// SPDX-License-Identifier: GPL-2.0-only
#include "network/pool.h"

#include <string.h>

#include "bpf/abi.h"

#define SLOTS4 32768

/* bpf/egress.bpf.c lets neighbour discovery go to the pool, and knows it by these. */
#define FIRST(a, b, ...) ((a) == BM_POOL6_FIRST && (b) == BM_POOL6_SECOND)
#define IS_POOL(...) FIRST(__VA_ARGS__)
_Static_assert(IS_POOL(BM_POOL6_PREFIX), "the prefix that the programs know");

struct bm_pair bm_pool_pair(int family, uint32_t bench)
{
	struct bm_pair pair = { .family = family };
	uint64_t number = (uint64_t)bench * 2;

	if (family == AF_INET) {
		uint16_t low = (uint16_t)(bench % SLOTS4 * 2);

		pair.len = 4;
		pair.prefix = 31;
		memcpy(pair.host,
		       (uint8_t[4]){ BM_POOL4_PREFIX, (uint8_t)(low >> 8), (uint8_t)low }, 4);
	} else {
		pair.len = 16;
		pair.prefix = 127;
		memcpy(pair.host, (uint8_t[6]){ BM_POOL6_PREFIX }, 6);
		for (int i = 0; i < 8; i++)
			pair.host[15 - i] = (uint8_t)(number >> (8 * i));
	}
	memcpy(pair.bench, pair.host, sizeof(pair.bench));
	pair.bench[pair.len - 1] |= 1;
	return pair;
}
