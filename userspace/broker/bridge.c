// SPDX-License-Identifier: GPL-2.0-only
/*
 * Between the two libraries: a body goes from one to the other through a buffer of bounded size,
 * and whoever is faster waits. Nothing is resumed from within the other's callback: that is noted,
 * and done by the loop.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/broker.h"

#define IDLE 60u /* seconds that a client may be silent in the middle of something */
#define MEMORY (64 * 1024)
#define BLOCK (32 * 1024)

static void wait_here(struct call *call)
{
	call->suspended = true;
	MHD_suspend_connection(call->connection);
}

/* The answer is there, or why there is none. */
static bool is_ready(const struct call *call)
{
	return call->answer.ended || call->refusal.status || call->down_failed;
}

static ssize_t give(void *cls, uint64_t pos, char *buf, size_t max)
{
	struct call *call = cls;
	size_t len = buffer_take(&call->down, buf, max);

	(void)pos;
	if (call->dead)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (len) {
		call->bytes_out += len;
		call->nudge_curl = true;
		if (quota_bytes(&call->broker->quota, len))
			return (ssize_t)len;
		call->cut = "broker-limit";
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	if (call->down_failed)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (call->down_ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	wait_here(call);
	return 0;
}

static struct MHD_Response *make_refusal(struct call *call)
{
	autojson *json = refusal_json(&call->refusal);
	const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	call->bytes_out = strlen(text);
	if (response)
		MHD_add_response_header(response, "Content-Type", "application/json");
	return response;
}

static struct MHD_Response *make_answer(struct call *call)
{
	const struct answer *a = &call->answer;
	bool empty = a->status == 204 || a->status == 304;
	uint64_t size = empty ? 0 : a->has_length ? a->length : MHD_SIZE_UNKNOWN;
	struct MHD_Response *response =
		MHD_create_response_from_callback(size, BLOCK, give, call, NULL);

	for (size_t i = 0; response && i < a->header_count; i++)
		MHD_add_response_header(response, a->headers[i].name, a->headers[i].value);
	return response;
}

static enum MHD_Result answer(struct call *call)
{
	struct MHD_Response *response;
	enum MHD_Result r;
	int status = call->refusal.status ?: call->answer.status;

	if (!status)
		return MHD_NO;
	response = call->refusal.status ? make_refusal(call) : make_answer(call);
	if (!response)
		return MHD_NO;
	/* One connection, one call. */
	MHD_add_response_header(response, "Connection", "close");
	call->queued = true;
	r = MHD_queue_response(call->connection, (unsigned int)status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result take_body(struct call *call, const char *data, size_t *size)
{
	size_t room = UP_MAX - buffer_has(&call->up), len = *size;

	/* What comes is not wanted any more, and has to come all the same before it is told. */
	if (!is_ready(call) && len > room)
		len = room;
	if (!len) {
		wait_here(call);
		return MHD_YES;
	}
	call->bytes_in += len;
	if (!quota_bytes(&call->broker->quota, len) && !is_ready(call)) {
		upstream_stop(call);
		call->cut = "broker-limit";
		refuse(&call->refusal, 429, EDQUOT, call->cut, "ask for another grant",
		       "the grant's %llu bytes have been used",
		       (unsigned long long)call->broker->limits.bytes);
	}
	if (!is_ready(call) && buffer_add(&call->up, data, len) < 0)
		return MHD_NO;
	*size -= len;
	call->nudge_curl = true;
	if (*size)
		wait_here(call);
	return MHD_YES;
}

static enum MHD_Result serve(void *cls, struct MHD_Connection *connection, const char *url,
			     const char *method, const char *version, const char *data,
			     size_t *size, void **state)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct call *call = info ? info->socket_context : NULL;

	(void)cls;
	(void)url;
	(void)version;
	/* The library has read something else than what was looked at: nothing of it is believed.
	 */
	if (!call || call->dead || strlen(method) != call->request.method.len ||
	    memcmp(method, call->request.method.text, call->request.method.len))
		return MHD_NO;
	if (!*state) {
		*state = call;
		call->connection = connection;
		upstream_call(call);
		return MHD_YES;
	}
	if (*size)
		return take_body(call, data, size);
	if (!call->up_ended) {
		call->up_ended = true;
		call->nudge_curl = true;
	}
	if (is_ready(call))
		return answer(call);
	wait_here(call);
	return MHD_YES;
}

static void completed(void *cls, struct MHD_Connection *connection, void **state,
		      enum MHD_RequestTerminationCode why)
{
	struct call *call = *state;

	(void)cls;
	(void)connection;
	if (call)
		call->delivered = why == MHD_REQUEST_TERMINATED_COMPLETED_OK;
}

static void connection_changes(void *cls, struct MHD_Connection *connection, void **context,
			       enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;
	struct broker *broker = cls;
	struct call *call = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		*context = info && info->connect_fd < FDS ? broker->calls[info->connect_fd] : NULL;
	} else if (call) {
		if (!call->delivered && !call->cut)
			call->cut = "broker-client";
		*context = NULL;
		call_free(call);
	}
}

int bridge_start(struct broker *broker, struct bm_error *err)
{
	broker->front = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		serve, broker, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY + REQUEST_HEAD,
		MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)16384,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE, MHD_OPTION_CONNECTION_LIMIT, FDS,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
		connection_changes, broker, MHD_OPTION_END);
	return broker->front ? 0 : bm_fail_errno(err, EIO, "libmicrohttpd does not start");
}

int bridge_serve(struct call *call)
{
	struct sockaddr_in nobody = { .sin_family = AF_INET };

	/* It closes the connection where it does not take it. */
	if (MHD_add_connection(call->broker->front, call->fd, (struct sockaddr *)&nobody,
			       sizeof(nobody)) == MHD_YES)
		return 0;
	call->cut = "broker-client";
	call_free(call);
	return -EIO;
}

void bridge_cut(struct call *call, const char *rule)
{
	if (call->dead)
		return;
	call->deadline = UINT64_MAX;
	upstream_stop(call);
	/* Only time is told, and only to who has been told nothing else. */
	if (!strcmp(rule, "broker-time") && call->suspended && !is_ready(call)) {
		refuse(&call->refusal, 504, ETIMEDOUT, rule, "ask for less",
		       "the call took longer than %u seconds", call->broker->limits.seconds);
		call->cut = rule;
		call->nudge_front = true;
		return;
	}
	if (!call->cut)
		call->cut = rule;
	call->dead = true;
	call->nudge_front = true;
	shutdown(call->fd, SHUT_RDWR);
}

bool bridge_nudge(struct broker *broker)
{
	bool any = false;

	for (int fd = 0; fd < FDS; fd++) {
		struct call *call = broker->calls[fd];
		bool room = call && !call->up_ended && buffer_has(&call->up) <= UP_MAX / 2;

		if (!call || call->phase != PHASE_SERVED)
			continue;
		if (call->nudge_curl && call->easy) {
			bool up = call->up_paused && (buffer_has(&call->up) || call->up_ended);
			bool down = call->down_paused && buffer_has(&call->down) <= DOWN_MAX / 2;

			if (up || down) {
				call->up_paused &= !up;
				call->down_paused &= !down;
				curl_easy_pause(call->easy,
						(call->up_paused ? CURLPAUSE_SEND : 0) |
							(call->down_paused ? CURLPAUSE_RECV : 0));
				any = true;
			}
		}
		call->nudge_curl = false;
		if (call->suspended && call->nudge_front &&
		    (call->up_ended || room || is_ready(call) || call->dead)) {
			call->suspended = false;
			MHD_resume_connection(call->connection);
			any = true;
		}
		if (!call->suspended)
			call->nudge_front = false;
	}
	return any;
}
