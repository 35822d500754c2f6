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
/* policy/access.h, for what this peer has passed. */
int peer_may(const struct connection *c, int fd, bool writable, struct bm_error *err);
/*
 * Of an object's ids the ones that a Bench of its may be: root's those that it has, everybody
 * else's their own. What their groups don't reach, their Bench reaches by no map.
 */
void peer_ids(const struct connection *c, const struct bm_source *s, uid_t *ret_uid,
	      gid_t *ret_gid);

/*
 * -EPERM: what has connected, and nobody else, has written this message, is still there and is in
 * no Bench.
 */
int peer_check(struct daemon *d, const struct connection *c, const struct bm_message *message,
	       struct bm_error *err);
/* The same of a connection that is only listened on; no message has come. */
bool peer_refused(struct daemon *d, const struct connection *c);

#endif
