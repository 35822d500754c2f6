/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What benchmon and gatekeeperd say to each other: one JSON object a message over AF_UNIX
 * SOCK_SEQPACKET, fds beside it by SCM_RIGHTS. Requests and replies: protocol/README.md.
 */
#ifndef BENCHMON_PROTOCOL_H
#define BENCHMON_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"

#define BM_PROTOCOL_VERSION 1
/* SEQPACKET sends a message whole or not at all; longer replies are paged. */
#define BM_MESSAGE_MAX 65536
#define BM_MESSAGE_FDS 3

#define BM_RUN_DIR "/run/benchmon"
#define BM_SOCKET_PATH BM_RUN_DIR "/gatekeeperd.sock"

struct bm_message {
	struct json_object *json;
	int fds[BM_MESSAGE_FDS];
	size_t fd_count;
	/* Who has written it, as the kernel says where SO_PASSCRED is set; pid 0: it does not. */
	pid_t pid;
	uid_t uid;
};

/* Drops the JSON and closes the fds that are left. Accepts an empty or half-taken message. */
void bm_message_done(struct bm_message *message);
#define automessage __attribute__((cleanup(bm_message_done))) struct bm_message

/* -EAGAIN, -EPIPE, -ECONNRESET, -EMSGSIZE ... The fds stay the caller's. */
int bm_send(int socket, struct json_object *json, const int *fds, size_t fd_count);

/*
 * Receives one message. -ECONNRESET: the peer has gone; -EAGAIN: nothing there (non-blocking).
 * -EMSGSIZE, -EBADMSG, -E2BIG (too many fds): the message was taken off the socket and dropped,
 * every fd in it closed, and err says which rule it broke; the connection is still good.
 */
int bm_receive(int socket, struct bm_message *ret, struct bm_error *err);

/*
 * The same of a message of at most max bytes, with which no fd is taken: the kernel itself closes
 * what came.
 */
int bm_receive_bare(int socket, size_t max, struct bm_message *ret, struct bm_error *err);

/*
 * As if the process with these credentials said it: who asks for the sender's (SO_PASSCRED) is told
 * of them. -ESRCH: it has gone.
 */
struct ucred;
int bm_send_as(int socket, struct json_object *json, const struct ucred *who);

/* Client: connects to path. -ENOENT or -ECONNREFUSED: no daemon listens there. */
int bm_connect(const char *path, int *ret_socket);

/*
 * Client: sends {"v","op", ...fields of request} and waits for the answer. 0: *ret_reply is the
 * reply with "ok": true, the caller's. An "ok": false reply becomes err and its -errno.
 */
int bm_call(int socket, const char *op, struct json_object *request, const int *fds,
	    size_t fd_count, struct json_object **ret_reply, struct bm_error *err);
/* The same of an answer that comes with an fd, the caller's. -EPROTO: without one. */
int bm_call_fd(int socket, const char *op, struct json_object *request, int *ret_fd,
	       struct json_object **ret_reply, struct bm_error *err);

#endif
