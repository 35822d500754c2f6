/* SPDX-License-Identifier: GPL-2.0-only */
/* Names into addresses, as the system's own resolver configuration has it. */
#ifndef BENCHMON_RESOLVE_H
#define BENCHMON_RESOLVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define BM_RESOLVE_HOSTS 512
#define BM_RESOLVE_ADDRESSES 64 /* of one host */
#define BM_RESOLVE_ROUNDS 3
#define BM_RESOLVE_HOST_LEN 254
#define BM_RESOLVE_MS 120000

struct bm_resolved_address {
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t ttl;        /* seconds; the least of all answers, and of the aliases on the way */
};

struct bm_resolved {
	char host[BM_RESOLVE_HOST_LEN];
	size_t count;
	struct bm_resolved_address addresses[BM_RESOLVE_ADDRESSES];
};

/* A helper at work. */
struct bm_resolving {
	int socket; /* readable when it is done; -1: none */
	pid_t pid;
	struct bm_resolved *hosts; /* what was asked */
	size_t count;
};

/*
 * Asks for all A and AAAA of the hosts, which are known to be host names, in BM_RESOLVE_ROUNDS
 * rounds: a name that rotates shows more of its addresses. In a confined helper, since what comes
 * back is the network's. Ends with bm_resolve_finish() or bm_resolve_abandon().
 */
int bm_resolve_start(const char *const *hosts, size_t count, struct bm_resolving *ret,
		     struct bm_error *err);
/*
 * Waits for it, BM_RESOLVE_MS at most. Every host has an address then, or the first that has none
 * is named: -ENOENT no such host, -ENODATA it has no address, -EHOSTUNREACH no usable answer,
 * -ECONNREFUSED nobody listens where the configuration says, -E2BIG more addresses than
 * BM_RESOLVE_ADDRESSES. *ret has as many elements as there were hosts, in their order, and is the
 * caller's.
 */
int bm_resolve_finish(struct bm_resolving *resolving, struct bm_resolved **ret,
		      struct bm_error *err);
void bm_resolve_abandon(struct bm_resolving *resolving);

/*
 * Adds the addresses of type (ns_t_a, ns_t_aaaa) in a DNS answer to ret, whose host is set, along
 * the aliases that the answer has. -EBADMSG: no answer to that; -E2BIG: too many.
 */
int bm_resolve_parse(const uint8_t *answer, size_t len, int type, struct bm_resolved *ret);

#endif
