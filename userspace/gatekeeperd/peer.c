// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "policy/access.h"

#define GROUPS_MAX 65536 /* as the kernel's NGROUPS_MAX */

void peer_take(struct connection *c, const struct ucred *peer, int pidfd)
{
	c->pid = peer->pid;
	c->uid = peer->uid;
	c->gid = peer->gid;
	c->pidfd = pidfd;
	c->started = pid_start_time(peer->pid);
}

int peer_groups(int socket, gid_t **ret, size_t *ret_count)
{
	autofree gid_t *groups = NULL;
	socklen_t len = 0;

	/* Without room it says how much it wants; without groups it has room enough. */
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) < 0 &&
	    (errno != ERANGE || len > GROUPS_MAX * sizeof(gid_t)))
		return -errno;
	groups = malloc(len + sizeof(gid_t));
	if (!groups)
		return -ENOMEM;
	if (len && getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return -errno;
	*ret = TAKE_PTR(groups);
	*ret_count = len / sizeof(gid_t);
	return 0;
}

bool peer_has_group(int socket, gid_t wanted)
{
	autofree gid_t *groups = NULL;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	size_t count = 0;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return false;
	if (peer.gid == wanted)
		return true;
	if (peer_groups(socket, &groups, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (groups[i] == wanted)
			return true;
	return false;
}

int peer_may(const struct connection *c, int fd, bool writable, struct bm_error *err)
{
	struct bm_caller caller = { .uid = c->uid, .gid = c->gid };
	autofree gid_t *groups = NULL;
	int r = c->uid ? peer_groups(c->watch.fd, &groups, &caller.group_count) : 0;

	if (r < 0)
		return bm_fail_errno(err, -r, "the groups of process %d", c->pid);
	caller.groups = groups;
	return bm_access_check(fd, &caller, writable, err);
}

void peer_ids(const struct connection *c, const struct bm_source *s, uid_t *ret_uid, gid_t *ret_gid)
{
	*ret_uid = c->uid ?: s->uid;
	*ret_gid = !c->uid || peer_has_group(c->watch.fd, s->gid) ? s->gid : c->gid;
}

static bool in_bench(struct daemon *d, const char *path)
{
	for (struct bench *b = d->model.benches; b; b = b->next) {
		size_t len = strlen(b->cgroup.path);

		if (len && !strncmp(path, b->cgroup.path, len) && (!path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

/*
 * A task of a Bench may not even ask. Looked up for every request, since a peer may have come into
 * a Bench after it connected, and only while it is there to be looked at: one that connects, hands
 * the socket on and dies is nobody. Before Linux 6.5 its descriptor is opened by its number, so it
 * may be of a process that got that number meanwhile: then the writer's uid is what still counts,
 * and that it is this very process.
 */
bool peer_refused(struct daemon *d, const struct connection *c)
{
	struct pollfd polled = { c->pidfd, POLLIN, 0 };
	char path[BM_CGROUP_PATH];
	int r;

	if (c->pidfd < 0 || !c->started || pid_start_time(c->pid) != c->started)
		return true;
	r = bm_cgroup_of_pid(c->pid, path, NULL);
	/* -EXDEV: in the root cgroup, so in no Bench. */
	if (r < 0 ? r != -EXDEV : in_bench(d, path))
		return true;
	return poll(&polled, 1, 0) != 0; /* it has ended, and the number may be another's */
}

/*
 * What SO_PEERCRED tells of is who connected. A socket is inherited and handed on: the kernel says
 * of each message which process wrote it, and as which user (its real one: that of whoever started
 * a set-user-ID program, which is therefore refused where it connected as another).
 */
int peer_check(struct daemon *d, const struct connection *c, const struct bm_message *message,
	       struct bm_error *err)
{
	if (message->pid != c->pid || message->uid != c->uid)
		return bm_fail(err, EPERM, "own-connection",
			       "let each process connect by itself, as one user",
			       "process %d of uid %u has connected, and process %d of uid %u asks",
			       c->pid, c->uid, message->pid, message->uid);
	if (peer_refused(d, c))
		return bm_fail(err, EPERM, "not-from-inside", NULL,
			       "process %d runs in a Bench, or has gone before it was seen",
			       c->pid);
	return 0;
}
