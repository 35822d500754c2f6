/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is at the other end of a connection: looked at when it comes, and again whenever it asks. */
#ifndef BENCHMON_GATEKEEPERD_PEER_H
#define BENCHMON_GATEKEEPERD_PEER_H

#include <sys/socket.h>

#include "gatekeeperd/daemon.h"

/* As what connected: pid, uid, and when that process was started. pidfd is taken over. */
void peer_take(struct connection *c, const struct ucred *peer, int pidfd);

/*
 * The supplementary groups that it had when it connected, as the kernel knows them; *ret is the
 * caller's.
 */
int peer_groups(int socket, gid_t **ret, size_t *ret_count);
/* Its own one, or one of these. */
bool peer_has_group(int socket, gid_t wanted);

/*
 * -EPERM: what has connected, and nobody else, has written this message, is still there and is in
 * no Bench.
 */
int peer_check(struct daemon *d, const struct connection *c, const struct bm_message *message,
	       struct bm_error *err);
/* The same of a connection that is only listened on; no message has come. */
bool peer_refused(struct daemon *d, const struct connection *c);

#endif
