/* SPDX-License-Identifier: GPL-2.0-only */
/* Ending connections, so that both ends learn of it at once (sock_diag(7), SOCK_DESTROY). */
#ifndef BENCHMON_SOCKDIAG_H
#define BENCHMON_SOCKDIAG_H

#include <stddef.h>
#include <stdint.h>

#include "network/address.h"

/* Whose sockets: all of a namespace, or those of some cgroups in it. */
struct bm_sockets {
	int netns;
	const uint64_t *cgroups; /* ids; NULL: all of the namespace */
	size_t cgroup_count;
};

/*
 * Ends each TCP connection and connected UDP socket whose other end is in the list (of who listens:
 * whose own port is), in whatever state but of listening: its calls return ECONNABORTED, and TCP
 * sends a reset, which still has to be let out. An
 * MPTCP connection loses the subflows that lead there. *ret_count gets how many there were, without
 * those in TIME_WAIT, which nobody has any more. The caller sees to it that no task is in a call on
 * such a socket: it would be waited for. On failure some may have been ended.
 */
int bm_sockets_destroy(const struct bm_sockets *of, const struct bm_destination *list, size_t count,
		       size_t *ret_count, struct bm_error *err);

#endif
