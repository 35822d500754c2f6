// SPDX-License-Identifier: GPL-2.0-only
#include "protocol/protocol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"

/* SCM_MAX_FD: the most fds a kernel passes at once, so that none is cut off uncounted. */
#define KERNEL_MAX_FDS 253

void bm_message_done(struct bm_message *message)
{
	json_object_put(message->json);
	for (size_t i = 0; i < message->fd_count; i++)
		bm_close(message->fds[i]);
	*message = (struct bm_message){};
}

int bm_send(int socket, struct json_object *json, const int *fds, size_t fd_count)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * BM_MESSAGE_FDS)];
	} control = {};
	const char *text = json_object_to_json_string_ext(
		json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	struct iovec iov = { (void *)(uintptr_t)text, text ? strlen(text) : 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (!text)
		return -ENOMEM;
	if (iov.iov_len > BM_MESSAGE_MAX || fd_count > BM_MESSAGE_FDS)
		return -EMSGSIZE;
	if (fd_count) {
		struct cmsghdr *cmsg;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	while (sendmsg(socket, &msg, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static void take_writer(const struct cmsghdr *c, struct bm_message *ret)
{
	struct ucred writer;

	if (c->cmsg_type != SCM_CREDENTIALS || c->cmsg_len != CMSG_LEN(sizeof(writer)))
		return;
	memcpy(&writer, CMSG_DATA(c), sizeof(writer));
	ret->pid = writer.pid;
	ret->uid = writer.uid;
}

/* Keeps the first BM_MESSAGE_FDS in ret and closes the rest; returns how many came. */
static size_t take_control(struct msghdr *msg, struct bm_message *ret)
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		take_writer(c, ret);
		if (c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++, count++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (ret->fd_count < BM_MESSAGE_FDS)
				ret->fds[ret->fd_count++] = fd;
			else
				bm_close(fd);
		}
	}
	return count;
}

int bm_receive(int socket, struct bm_message *ret, struct bm_error *err)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct ucred)) +
			   CMSG_SPACE(sizeof(int) * KERNEL_MAX_FDS)];
	} control;
	autofree char *text = malloc(BM_MESSAGE_MAX);
	automessage message = {};
	struct iovec iov = { text, BM_MESSAGE_MAX };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	size_t fds;
	ssize_t n;
	int r;

	if (!text)
		return -ENOMEM;
	do {
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	fds = take_control(&msg, &message);
	/* An empty packet looks the same as the end; nobody has reason to send one. */
	if (n == 0)
		return -ECONNRESET;
	if (msg.msg_flags & MSG_TRUNC)
		return bm_fail(err, EMSGSIZE, "message-size", NULL, "message of more than %d bytes",
			       BM_MESSAGE_MAX);
	if (fds > BM_MESSAGE_FDS || msg.msg_flags & MSG_CTRUNC)
		return bm_fail(err, E2BIG, "message-fds", NULL,
			       "message with %zu file descriptors, at most %d are taken", fds,
			       BM_MESSAGE_FDS);
	r = bm_json_parse(text, (size_t)n, "message", &message.json, err);
	if (r < 0)
		return r;
	*ret = message;
	message = (struct bm_message){};
	return 0;
}

int bm_receive_bare(int socket, size_t max, struct bm_message *ret, struct bm_error *err)
{
	autofree char *text = malloc(max);
	struct iovec iov = { text, max };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (!text)
		return -ENOMEM;
	do {
		n = recvmsg(socket, &msg, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (msg.msg_flags & MSG_CTRUNC)
		return bm_fail(err, E2BIG, "message-fds", NULL,
			       "message with file descriptors, of which none is taken here");
	if (n == 0)
		return -ECONNRESET;
	if (msg.msg_flags & MSG_TRUNC)
		return bm_fail(err, EMSGSIZE, "message-size", NULL,
			       "message of more than %zu bytes", max);
	return bm_json_parse(text, (size_t)n, "message", &ret->json, err);
}

int bm_send_as(int socket, struct json_object *json, const struct ucred *who)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(*who))];
	} control = { .head = { CMSG_LEN(sizeof(*who)), SOL_SOCKET, SCM_CREDENTIALS } };
	const char *text = json_object_to_json_string_ext(
		json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	struct iovec iov = { (void *)(uintptr_t)text, text ? strlen(text) : 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	if (!text)
		return -ENOMEM;
	if (iov.iov_len > BM_MESSAGE_MAX)
		return -EMSGSIZE;
	memcpy(CMSG_DATA(&control.head), who, sizeof(*who));
	while (sendmsg(socket, &msg, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int bm_connect(const char *path, int *ret_socket)
{
	autoclose fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int size = 4 * BM_MESSAGE_MAX;

	if (fd < 0)
		return -errno;
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
	    sizeof(address.sun_path))
		return -ENAMETOOLONG;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	*ret_socket = TAKE_FD(fd);
	return 0;
}

static int call(int socket, const char *op, struct json_object *request, const int *fds,
		size_t fd_count, struct bm_message *ret, struct bm_error *err)
{
	autojson *message = json_object_new_object();
	automessage reply = {};
	int r;

	bm_json_add_int(message, "v", BM_PROTOCOL_VERSION);
	bm_json_add_string(message, "op", op);
	if (request) {
		json_object_object_foreach(request, key, value)
			bm_json_add(message, key, json_object_get(value));
	}
	r = bm_send(socket, message, fds, fd_count);
	if (r == -EMSGSIZE)
		return bm_fail(err, EMSGSIZE, "message-size", "give shorter arguments",
			       "%s: the request is longer than %d bytes", op, BM_MESSAGE_MAX);
	if (r < 0)
		return bm_fail_errno(err, -r, "%s: gatekeeperd", op);
	r = bm_receive(socket, &reply, err);
	if (r == -ECONNRESET)
		return bm_fail(err, ECONNRESET, NULL, "look at its log for the reason",
			       "%s: gatekeeperd hung up", op);
	if (r < 0)
		return bm_fail_errno(err, -r, "%s: gatekeeperd", op);
	if (!bm_json_bool(reply.json, "ok")) {
		struct json_object *error = bm_json_get(reply.json, "error", json_type_object);
		struct bm_error remote;

		if (!error || bm_error_from_json(error, &remote) < 0)
			return bm_fail(err, EPROTO, NULL, NULL, "%s: malformed reply", op);
		if (err && !err->code)
			*err = remote;
		return -remote.code;
	}
	*ret = reply;
	reply = (struct bm_message){};
	return 0;
}

int bm_call(int socket, const char *op, struct json_object *request, const int *fds,
	    size_t fd_count, struct json_object **ret_reply, struct bm_error *err)
{
	automessage reply = {};
	int r = call(socket, op, request, fds, fd_count, &reply, err);

	if (r == 0)
		*ret_reply = TAKE_PTR(reply.json);
	return r;
}

int bm_call_fd(int socket, const char *op, struct json_object *request, int *ret_fd,
	       struct json_object **ret_reply, struct bm_error *err)
{
	automessage reply = {};
	int r = call(socket, op, request, NULL, 0, &reply, err);

	if (r < 0)
		return r;
	if (reply.fd_count != 1)
		return bm_fail(err, EPROTO, "protocol", NULL, "%s: malformed reply", op);
	*ret_fd = TAKE_FD(reply.fds[0]);
	*ret_reply = TAKE_PTR(reply.json);
	return 0;
}
