// SPDX-License-Identifier: GPL-2.0-only
/* Connections: who asks, what may be asked, and how it is answered. */
#include "gatekeeperd/daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "gatekeeperd/adopt.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/clients.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/door.h"
#include "gatekeeperd/ending.h"
#include "gatekeeperd/freeze.h"
#include "gatekeeperd/peer.h"
#include "gatekeeperd/receipt.h"
#include "gatekeeperd/sealing.h"
#include "gatekeeperd/secrets_search.h"

void pending_drop(struct connection *c)
{
	bm_close(c->pending.fd);
	bm_close(c->pending.tree);
	free(c->pending.excepts);
	hosts_done(&c->pending.hosts);
	grant_broker_free(c->pending.broker);
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
	broker_verify_abandon(d, c);
	secrets_search_abandon(d, c);
	clients_gone(d);
	if (c->role == PEER_BENCH)
		door_left(d, c);
	ending_unheard(c->ending);
	c->ending = NULL;
	revoking_unheard(c->revoking);
	c->revoking = NULL;
	freezing_unheard(c->freezing);
	c->freezing = NULL;
	if (c->streaming)
		bm_reader_detach(&c->reader);
	free(TAKE_PTR(c->unsent));
	if (c->execution)
		execution_abandon(c->execution);
	c->execution = NULL;
}

static void reply_with(struct daemon *d, struct connection *c, struct json_object *reply,
		       const int *fds, size_t fd_count)
{
	int r;

	if (c->dead) {
		json_object_put(reply);
		return;
	}
	r = c->role == PEER_BENCH ? door_reply(c, reply)
				  : bm_send(c->watch.fd, reply, fds, fd_count);
	if (r < 0) {
		if (r != -EPIPE && r != -ECONNRESET && c->role != PEER_BENCH)
			daemon_log(LOG_LEVEL_WARNING, "reply to process %d: %s", c->pid,
				   strerror(-r));
		connection_close(d, c);
	}
	json_object_put(reply);
	clients_touch(d, c);
}

void connection_reply(struct daemon *d, struct connection *c, struct json_object *reply)
{
	reply_with(d, c, reply, NULL, 0);
}

void connection_reply_fd(struct daemon *d, struct connection *c, struct json_object *reply, int fd)
{
	reply_with(d, c, reply, &fd, 1);
}

static void reply_error(struct daemon *d, struct connection *c, const struct bm_error *err)
{
	struct json_object *reply = json_object_new_object();

	bm_json_add_bool(reply, "ok", false);
	bm_json_add(reply, "error", bm_error_to_json(err));
	if (!strcmp(err->rule, REQUEST_VERSION_RULE))
		bm_json_add_int(reply, "v", BM_PROTOCOL_VERSION);
	connection_reply(d, c, reply);
}

static int refuse_role(struct daemon *d, const struct connection *c, const char *op,
		       struct bm_error *err)
{
	if (c->role == PEER_BENCH)
		return bm_fail(err, EPERM, "operator", "ask for it: `benchmon request`",
			       "%s: not from inside a Bench", op);
	if (c->role == PEER_AGENT)
		return bm_fail(err, EPERM, "operator",
			       "ask for it: `benchmon request`; an operator confirms",
			       "%s: uid %u is an agent, and no operator", op, c->uid);
	return bm_fail(err, EPERM, "operator",
		       d->config.operators[0] ? "run it as root, or as one of the operators"
					      : "run it as root",
		       "%s: uid %u is no operator", op, c->uid);
}

static int check_peer(struct daemon *d, const struct connection *c, const struct request *request,
		      const struct bm_message *message, struct bm_error *err)
{
	int r = 0;

	/* Nothing of who asks matters for what a stranger may ask. */
	if (request_allowed(request, PEER_STRANGER))
		return 0;
	if (c->role != PEER_BENCH)
		r = peer_check(d, c, message, err);
	if (r == 0 &&
	    (!request_allowed(request, c->role) || (c->role == PEER_BENCH && !door_takes(request))))
		r = refuse_role(d, c, request->op, err);
	return r;
}

bool connection_busy(const struct connection *c)
{
	return c->streaming || c->execution || c->ending || c->revoking || c->freezing ||
	       c->awaits.number || sealing_busy(c->sealing) || broker_verify_busy(c) ||
	       secrets_busy(c);
}

static int dispatch(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	const struct request *request;
	int r = request_find(message->json, &request, err);

	if (r < 0)
		return r;
	if (connection_busy(c))
		return bm_fail(err, EBUSY, "protocol", "open another connection",
			       "this connection is taken by an earlier request");
	daemon_log(LOG_LEVEL_DEBUG, "process %d of uid %u asks: %s", c->pid, c->uid, request->op);
	r = check_peer(d, c, request, message, err);
	if (r == 0)
		r = request_check(request, message, err);
	return r < 0 ? r : request->fn(d, c, message, ret_reply, err);
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

void on_connection(struct daemon *d, struct watch *w, uint32_t events)
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
	r = c->role == PEER_BENCH ? door_receive(d, c, &message, &err)
				  : bm_receive(w->fd, &message, &err);
	if (r == -EAGAIN)
		return;
	if (r < 0 && !err.code) {
		connection_close(d, c);
		return;
	}
	clients_touch(d, c);
	if (r == 0)
		r = dispatch(d, c, &message, &reply, &err);
	if (r < 0 && c->role == PEER_BENCH)
		door_refused(d, c, &err);
	connection_answer(d, c, r, reply, &err);
	if (c->streaming && !c->dead)
		stream_continue(d, c);
}
