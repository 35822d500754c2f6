// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections before libmicrohttpd: the head is peeked at and judged as it lies in the socket, and
 * is read by the library only then, the very same bytes. One connection makes one call, so that
 * nothing can be hidden behind the first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/broker.h"

#define HEAD_MS 10000  /* from the connection to the end of its head */
#define PIECES 256     /* in which it may come: each is looked at from its beginning */
#define LINGER_MS 2000 /* for the client to read what it was told */
#define LINGER_MAX (1u << 20)
#define SPARE 16 /* connections beside those that make calls */

static int watch(const struct broker *broker, int op, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(broker->epoll, op, fd, &event) < 0 ? -errno : 0;
}

/*
 * A byte that is sent out of band is taken out of the stream by who reads it, and not by who peeked
 * at it before the mark came: in line, both see the same. Nobody who peeks sees beyond a mark.
 */
static int in_line(int fd)
{
	int on = 1;

	return setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) < 0 ? -errno : 0;
}

int front_start(struct broker *broker, struct bm_error *err)
{
	int flags = fcntl(LISTENER, F_GETFL);

	if (flags < 0 || fcntl(LISTENER, F_SETFL, flags | O_NONBLOCK) < 0 || in_line(LISTENER) < 0)
		return bm_fail_errno(err, errno, "the listening socket");
	if (watch(broker, EPOLL_CTL_ADD, LISTENER, 0) < 0)
		return bm_fail_errno(err, errno, "epoll");
	return 0;
}

void front_update(struct broker *broker)
{
	bool accepting = !broker->record_count &&
			 broker->call_count < broker->limits.concurrent + SPARE &&
			 !quota_overdrawn(&broker->quota, now_ms());

	if (accepting != broker->accepting)
		watch(broker, EPOLL_CTL_MOD, LISTENER, accepting ? EPOLLIN : 0);
	broker->accepting = accepting;
}

void call_free(struct call *call)
{
	struct broker *broker = call->broker;

	upstream_stop(call);
	if (call->counted)
		quota_end(&broker->quota);
	/* Who connected and said nothing has called nobody. */
	if (call->head_len) {
		if (!call->counted)
			quota_refused(&broker->quota, now_ms());
		control_record(broker, call);
	}
	broker->calls[call->fd] = NULL;
	broker->call_count--;
	answer_done(&call->answer);
	echo_stream_free(call->echo);
	buffer_done(&call->up);
	buffer_done(&call->down);
	free(call->head);
	free(call);
}

static void drop(struct call *call)
{
	int fd = call->fd;

	call_free(call);
	close(fd);
}

static void take(struct broker *broker, int fd)
{
	struct call *call = fd < FDS ? calloc(1, sizeof(*call)) : NULL;
	char *head = call ? malloc(REQUEST_HEAD + 1) : NULL;

	if (!head || in_line(fd) < 0 ||
	    watch(broker, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET) < 0) {
		free(head);
		free(call);
		close(fd);
		return;
	}
	call->broker = broker;
	call->fd = fd;
	call->head = head;
	call->began = now_ms();
	call->deadline = call->began + HEAD_MS;
	broker->calls[fd] = call;
	broker->call_count++;
}

void front_accept(struct broker *broker)
{
	int fd = 0;

	while (broker->call_count < broker->limits.concurrent + SPARE) {
		fd = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			break;
		take(broker, fd);
	}
	/* The socket has been shut down: there is nobody left to serve. */
	if (fd < 0 && errno == EINVAL)
		_exit(0);
}

/* It is told, and what it goes on sending is read for a while: a reset would take the answer back.
 */
static void tell(struct call *call)
{
	autojson *json = refusal_json(&call->refusal);
	const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
	bool body = call->request.method.len != 4 || memcmp(call->request.method.text, "HEAD", 4);
	char head[256], wait[48] = "";
	int len;

	if (call->wait)
		snprintf(wait, sizeof(wait), "Retry-After: %u\r\n", call->wait);
	len = snprintf(head, sizeof(head),
		       "HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\n"
		       "Content-Length: %zu\r\n%sConnection: close\r\n\r\n",
		       call->refusal.status, strlen(text), wait);
	if (send(call->fd, head, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE) == len &&
	    body && send(call->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		call->bytes_out = strlen(text);
	shutdown(call->fd, SHUT_WR);
	call->phase = PHASE_LINGER;
	call->deadline = now_ms() + LINGER_MS;
}

static void linger(struct call *call)
{
	char waste[16384];
	ssize_t n;

	do {
		n = recv(call->fd, waste, sizeof(waste), MSG_DONTWAIT);
		call->lingered += n > 0 ? (unsigned int)n : 0;
	} while (n > 0 && call->lingered < LINGER_MAX);
	if (n >= 0 || errno != EAGAIN)
		drop(call);
}

static int judge(struct call *call, size_t len)
{
	struct broker *broker = call->broker;
	int r = head_parse(call->head, len, &call->request, &call->refusal);

	if (r == 0)
		r = head_check(&call->request, &broker->definition,
			       (const char *const *)broker->hosts, &call->refusal);
	if (r == 0)
		r = quota_begin(&broker->quota, now_ms(), &call->wait, &call->refusal);
	call->counted = r == 0;
	return r;
}

static void look(struct call *call, bool urgent)
{
	ssize_t len = recv(call->fd, call->head, REQUEST_HEAD, MSG_PEEK | MSG_DONTWAIT);
	int end;

	if (len <= 0) {
		if (len == 0 || errno != EAGAIN)
			drop(call);
		return;
	}
	call->head_len = (size_t)len;
	end = urgent ? refuse(&call->refusal, 400, EBADMSG, "broker-request", "send it in band",
			      "urgent data in the head")
		     : head_end(call->head, (size_t)len, &call->seen, &call->refusal);
	if (end == 0 && ++call->pieces >= PIECES)
		end = refuse(&call->refusal, 400, E2BIG, "broker-time", "send the head at once",
			     "a head in more than %d pieces", PIECES);
	if (end == 0)
		return;
	call->head_len = end > 0 ? (size_t)end : call->head_len;
	if (end > 0)
		end = judge(call, (size_t)end);
	if (end == 0) {
		call->deadline = call->began + call->broker->limits.seconds * 1000ull;
		call->phase = PHASE_SERVED;
		watch(call->broker, EPOLL_CTL_MOD, call->fd, EPOLLRDHUP | EPOLLET);
		end = bridge_serve(call);
		if (end < 0)
			return;
	}
	if (end < 0) {
		tell(call);
		linger(call);
	}
}

void front_event(struct call *call, uint32_t events)
{
	if (call->phase == PHASE_LINGER) {
		linger(call);
	} else if (call->phase == PHASE_HEAD) {
		look(call, events & EPOLLPRI);
	} else if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
		/* Nobody reads the answer: no reason to have it made, and paid for. */
		bridge_cut(call, "broker-client");
	}
}

static void expire(struct call *call)
{
	if (call->phase == PHASE_LINGER) {
		drop(call);
	} else if (call->phase == PHASE_HEAD) {
		if (!call->head_len) {
			drop(call);
			return;
		}
		refuse(&call->refusal, 408, ETIMEDOUT, "broker-time", "send the head at once",
		       "no whole head within %d seconds", HEAD_MS / 1000);
		tell(call);
	} else {
		bridge_cut(call, "broker-time");
	}
}

int front_deadlines(struct broker *broker)
{
	uint64_t now = now_ms(), next = now + 60000;
	unsigned int debt = quota_overdrawn(&broker->quota, now);

	for (int fd = 0; fd < FDS; fd++) {
		struct call *call = broker->calls[fd];

		if (call && call->deadline <= now) {
			expire(call);
			next = now;
		}
		call = broker->calls[fd];
		if (call && call->deadline > now && call->deadline < next)
			next = call->deadline;
	}
	if (debt && now + debt < next)
		next = now + debt;
	return (int)(next - now);
}
