// SPDX-License-Identifier: GPL-2.0-only
/* Connections: who asks, what may be asked, and how it is answered. */
#include "gatekeeperd/daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "gatekeeperd/adopt.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/sealing.h"

#define MAX_CONNECTIONS 256

static const struct {
	const char *op;
	request_fn fn;
	size_t fds;
	bool anyone; /* else operators alone */
	const char *keys[16];
} requests[] = {
	{ "version", request_version, 0, true, { NULL } },
	{ "create", request_create, 1, false, { "bench", "limits", "exec", "userns", NULL } },
	{ "attach",
	  request_attach,
	  0,
	  false,
	  { "bench", "container", "exec", "userns", "adopt", NULL } },
	{ "adopt", request_adopt, 0, false, { "bench", "volume", NULL } },
	{ "detach", request_detach, 0, false, { "bench", NULL } },
	{ "freeze", request_freeze, 0, false, { "bench", NULL } },
	{ "thaw", request_thaw, 0, false, { "bench", NULL } },
	{ "destroy", request_destroy, 0, false, { "bench", NULL } },
	{ "grant",
	  request_grant,
	  1,
	  false,
	  { "bench", "kind", "source", "dest", "rights", "idmap", "destination", "profile",
	    "private", "for", "on_revoke", "except", "port", "protocol", "from", NULL } },
	{ "confirm", request_confirm, 0, false, { "token", "how", NULL } },
	{ "revoke", request_revoke, 0, false, { "grant", "host", "bench", "all", NULL } },
	{ "ls", request_ls, 0, false, { "offset", NULL } },
	{ "show", request_show, 0, false, { "bench", "offset", NULL } },
	{ "events", request_events, 0, false, { "bench", "since", "follow", NULL } },
	{ "profile-ls", request_profile_ls, 0, false, { "offset", NULL } },
	{ "profile-show", request_profile_show, 0, false, { "name", "offset", NULL } },
	{ "profile-verify", request_profile_verify, 0, false, { "name", NULL } },
	{ "profile-seal", request_profile_seal, 1, false, { "name", "image", "private", NULL } },
	{ "profile-refresh", request_profile_refresh, 0, false, { "name", NULL } },
	{ "profile-unseal", request_profile_unseal, 0, false, { "name", NULL } },
	{ "profile-pending", request_profile_pending, 0, false, { "token", "offset", NULL } },
	{ "exec", request_exec, 3, false, { "bench", "argv", "env", "cwd", "tty", NULL } },
};

void pending_drop(struct connection *c)
{
	bm_close(c->pending.fd);
	bm_close(c->pending.tree);
	free(c->pending.excepts);
	hosts_done(&c->pending.hosts);
	c->pending = (struct pending){ .fd = -1, .tree = -1 };
}

/* Called from inside handlers too: freed by the loop, when nothing uses it any more. */
void connection_close(struct daemon *d, struct connection *c)
{
	if (c->dead)
		return;
	c->dead = true;
	daemon_unwatch(d, &c->watch);
	bm_close(c->watch.fd);
	c->watch.fd = -1;
	bm_close(c->pidfd);
	c->pidfd = -1;
	pending_drop(c);
	adoption_drop(c->adoption);
	c->adoption = NULL;
	sealing_abandon(d, c->sealing);
	if (c->streaming)
		bm_reader_detach(&c->reader);
	if (c->execution)
		execution_abandon(c->execution);
	c->execution = NULL;
}

void connection_reply(struct daemon *d, struct connection *c, struct json_object *reply)
{
	int r;

	if (c->dead) {
		json_object_put(reply);
		return;
	}
	r = bm_send(c->watch.fd, reply, NULL, 0);
	if (r < 0) {
		if (r != -EPIPE && r != -ECONNRESET)
			daemon_log(LOG_LEVEL_WARNING, "reply to process %d: %s", c->pid,
				   strerror(-r));
		connection_close(d, c);
	}
	json_object_put(reply);
}

static void reply_error(struct daemon *d, struct connection *c, const struct bm_error *err)
{
	struct json_object *reply = json_object_new_object();

	bm_json_add_bool(reply, "ok", false);
	bm_json_add(reply, "error", bm_error_to_json(err));
	connection_reply(d, c, reply);
}

/* SO_PEERPIDFD: since 6.5 the peer itself, not only its number. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static bool in_bench(struct daemon *d, const char *path)
{
	for (struct bench *b = d->model.benches; b; b = b->next) {
		size_t len = strlen(b->cgroup.path);

		if (len && !strncmp(path, b->cgroup.path, len) && (!path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

/* The process that connected, held so that its number stays its own; -errno. */
static int open_peer(int socket, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return fd < 0 ? -errno : fd;
}

/*
 * A task of a Bench may not even ask. Looked up for every request, since a peer may have come into
 * a Bench after it connected, and only while it is there to be looked at: one that connects, hands
 * the socket on and dies is nobody.
 */
static bool peer_refused(struct daemon *d, const struct connection *c)
{
	struct pollfd polled = { c->pidfd, POLLIN, 0 };
	char path[BM_CGROUP_PATH];
	int r;

	if (c->pidfd < 0)
		return true;
	r = bm_cgroup_of_pid(c->pid, path, NULL);
	/* -EXDEV: in the root cgroup, so in no Bench. */
	if (r < 0 ? r != -EXDEV : in_bench(d, path))
		return true;
	return poll(&polled, 1, 0) != 0; /* it has ended, and the number may be another's */
}

static int check_peer(struct daemon *d, const struct connection *c, const char *op,
		      struct bm_error *err)
{
	if (peer_refused(d, c))
		return bm_fail(err, EPERM, "not-from-inside", NULL,
			       "process %d runs in a Bench, or has gone before it was seen",
			       c->pid);
	if (c->uid != 0)
		return bm_fail(err, EPERM, "operator", "run it as root",
			       "%s: uid %u is no operator", op, c->uid);
	return 0;
}

/* A key means the same in every request. One of another type is no "false" and no "none". */
static const struct {
	const char *key;
	enum json_type type;
} types[] = {
	{ "v", json_type_int },
	{ "op", json_type_string },
	{ "bench", json_type_string },
	{ "limits", json_type_object },
	{ "container", json_type_object },
	{ "exec", json_type_string },
	{ "adopt", json_type_boolean },
	{ "userns", json_type_boolean },
	{ "volume", json_type_int },
	{ "kind", json_type_string },
	{ "source", json_type_string },
	{ "dest", json_type_string },
	{ "rights", json_type_string },
	{ "idmap", json_type_boolean },
	{ "destination", json_type_string },
	{ "profile", json_type_string },
	{ "host", json_type_string },
	{ "private", json_type_boolean },
	{ "for", json_type_int },
	{ "on_revoke", json_type_string },
	{ "except", json_type_array },
	{ "port", json_type_int },
	{ "protocol", json_type_string },
	{ "from", json_type_array },
	{ "token", json_type_string },
	{ "how", json_type_string },
	{ "grant", json_type_string },
	{ "name", json_type_string },
	{ "image", json_type_string },
	{ "all", json_type_boolean },
	{ "offset", json_type_int },
	{ "since", json_type_int },
	{ "follow", json_type_boolean },
	{ "argv", json_type_array },
	{ "env", json_type_object },
	{ "cwd", json_type_string },
	{ "tty", json_type_boolean },
};

static int check_type(const char *op, const char *key, struct json_object *value,
		      struct bm_error *err)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].key, key) && json_object_is_type(value, types[i].type))
			return 0;
	return bm_fail(err, EINVAL, "protocol", NULL, "%s: \"%s\" is of the wrong type", op, key);
}

static int check_keys(size_t i, struct json_object *request, struct bm_error *err)
{
	const char *known[sizeof(requests[0].keys) / sizeof(requests[0].keys[0]) + 3] = { "v",
											  "op" };
	int r;

	for (size_t k = 0; requests[i].keys[k]; k++)
		known[2 + k] = requests[i].keys[k];
	r = bm_json_only(request, known, requests[i].op, err);
	if (r < 0)
		return r;
	json_object_object_foreach(request, key, value) {
		r = check_type(requests[i].op, key, value, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int dispatch(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	const char *op = bm_json_string(message->json, "op");
	char shown[64];
	int64_t version;
	size_t i = 0;
	int r;

	if (bm_json_int(message->json, "v", &version) < 0 || version != BM_PROTOCOL_VERSION)
		return bm_fail(err, EPROTO, "protocol",
			       "use benchmon and gatekeeperd of one version",
			       "the request is not of protocol version %d", BM_PROTOCOL_VERSION);
	if (!op)
		return bm_fail(err, EPROTO, "protocol", NULL, "the request has no \"op\"");
	while (i < sizeof(requests) / sizeof(requests[0]) && strcmp(requests[i].op, op))
		i++;
	if (i == sizeof(requests) / sizeof(requests[0]))
		return bm_fail(err, ENOSYS, "protocol", NULL, "unknown request \"%s\"",
			       bm_escape(op, shown, sizeof(shown)));
	if (c->streaming || c->execution || sealing_busy(c->sealing))
		return bm_fail(err, EBUSY, "protocol", "open another connection",
			       "this connection is taken by an earlier request");
	r = requests[i].anyone ? 0 : check_peer(d, c, op, err);
	if (r == 0)
		r = check_keys(i, message->json, err);
	if (r < 0)
		return r;
	if (message->fd_count > requests[i].fds)
		return bm_fail(err, E2BIG, "message-fds", NULL, "%s: %zu file descriptors, not %zu",
			       op, message->fd_count, requests[i].fds);
	return requests[i].fn(d, c, message, ret_reply, err);
}

void connection_answer(struct daemon *d, struct connection *c, int r, struct json_object *reply,
		       struct bm_error *err)
{
	if (r < 0) {
		json_object_put(reply);
		bm_fail_errno(err, -r, "request");
		reply_error(d, c, err);
	} else if (reply) {
		bm_json_add_bool(reply, "ok", true);
		connection_reply(d, c, reply);
	}
}

static void on_connection(struct daemon *d, struct watch *w, uint32_t events)
{
	struct connection *c = (struct connection *)w;
	struct json_object *reply = NULL;
	automessage message = {};
	struct bm_error err = {};
	int r;

	if (events & EPOLLOUT && c->streaming)
		stream_continue(d, c);
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || c->dead)
		return;
	r = bm_receive(w->fd, &message, &err);
	if (r == -EAGAIN)
		return;
	if (r < 0 && !err.code) {
		connection_close(d, c);
		return;
	}
	if (r == 0)
		r = dispatch(d, c, &message, &reply, &err);
	connection_answer(d, c, r, reply, &err);
	if (c->streaming && !c->dead)
		stream_continue(d, c);
}

void on_listener(struct daemon *d, struct watch *w, uint32_t events)
{
	autoclose fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int size = 4 * BM_MESSAGE_MAX;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct connection *c;
	size_t count = 0;

	(void)events;
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return;
	for (c = d->connections; c; c = c->next)
		count++;
	c = count < MAX_CONNECTIONS ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		daemon_log(LOG_LEVEL_WARNING, "connection of process %d refused: %zu are open",
			   peer.pid, count);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	c->pid = peer.pid;
	c->uid = peer.uid;
	c->pidfd = open_peer(fd, peer.pid);
	c->pending.fd = c->pending.tree = -1;
	c->watch = (struct watch){ .fd = fd, .ready = on_connection };
	if (daemon_watch(d, &c->watch, EPOLLIN) < 0) {
		bm_close(c->pidfd);
		free(c);
		return;
	}
	TAKE_FD(fd);
	c->next = d->connections;
	d->connections = c;
}
