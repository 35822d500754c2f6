// SPDX-License-Identifier: GPL-2.0-only
/* The one upstream, over TLS that is verified, at the addresses that were pinned. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/broker.h"

#define CONNECT_MS 15000L
#define IDLE_S 30L /* that a connection waits for another call: upstreams close theirs later */

/* Whatever libcurl has come to think, no socket is made for another place. */
static curl_socket_t open_socket(void *cls, curlsocktype purpose, struct curl_sockaddr *to)
{
	const struct broker *broker = cls;
	struct in6_addr address = { .s6_addr = { [10] = 0xff, [11] = 0xff } };
	uint16_t port;

	if (purpose != CURLSOCKTYPE_IPCXN)
		return CURL_SOCKET_BAD;
	if (to->family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&to->addr;

		memcpy(&address.s6_addr[12], &in->sin_addr, sizeof(in->sin_addr));
		port = ntohs(in->sin_port);
	} else if (to->family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&to->addr;

		address = in6->sin6_addr;
		port = ntohs(in6->sin6_port);
	} else {
		return CURL_SOCKET_BAD;
	}
	for (size_t i = 0; port == broker->definition.port && i < broker->address_count; i++)
		if (!memcmp(&address, &broker->addresses[i], sizeof(address)))
			return socket(to->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return CURL_SOCKET_BAD;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *cls, void *known)
{
	struct broker *broker = cls;
	struct epoll_event event = { .data.fd = fd };

	(void)easy;
	event.events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
	if (what == CURL_POLL_REMOVE)
		epoll_ctl(broker->epoll, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(broker->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0)
		epoll_ctl(broker->epoll, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
	if (what != CURL_POLL_REMOVE)
		curl_multi_assign(broker->multi, fd, broker);
	return 0;
}

static int set_timer(CURLM *multi, long ms, void *cls)
{
	struct broker *broker = cls;

	(void)multi;
	broker->timer = ms < 0 ? 0 : now_ms() + (uint64_t)ms;
	return 0;
}

static size_t append_address(const struct in6_addr *address, const char *before, char *text,
			     size_t size)
{
	char shown[INET6_ADDRSTRLEN];

	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, &address->s6_addr[12], shown, sizeof(shown));
	else
		inet_ntop(AF_INET6, address, shown, sizeof(shown));
	return (size_t)snprintf(text, size, "%s%s", before, shown);
}

int upstream_start(struct broker *broker, struct bm_error *err)
{
	char text[BM_HOSTNAME_LEN + ADDRESSES * (INET6_ADDRSTRLEN + 4) + 16];
	size_t at, size = BM_HOSTNAME_LEN + 32;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return bm_fail_errno(err, EIO, "libcurl does not start");
	if (trust_load(broker, err) < 0)
		return -err->code;
	at = (size_t)snprintf(text, sizeof(text), "%s:%u:", broker->definition.host,
			      broker->definition.port);
	for (size_t i = 0; i < broker->address_count; i++)
		at += append_address(&broker->addresses[i], i ? "," : "", text + at,
				     sizeof(text) - at);
	broker->resolve = curl_slist_append(NULL, text);
	broker->origin = malloc(size);
	broker->multi = curl_multi_init();
	if (!broker->resolve || !broker->origin || !broker->multi)
		return bm_fail_errno(err, ENOMEM, "libcurl");
	snprintf(broker->origin, size, "https://%s:%u", broker->definition.host,
		 broker->definition.port);
	curl_multi_setopt(broker->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	curl_multi_setopt(broker->multi, CURLMOPT_SOCKETDATA, broker);
	curl_multi_setopt(broker->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(broker->multi, CURLMOPT_TIMERDATA, broker);
	curl_multi_setopt(broker->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	curl_multi_setopt(broker->multi, CURLMOPT_MAXCONNECTS, (long)broker->limits.concurrent);
	return 0;
}

int upstream_prepare(struct broker *broker, CURL *easy)
{
	CURLcode r = trust_use(broker, easy);

	/* libcurl's own defaults look at the environment and the file system. */
	r |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	r |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	r |= curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	r |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
	r |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
	r |= curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	r |= curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	r |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	r |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	r |= curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	r |= curl_easy_setopt(easy, CURLOPT_RESOLVE, broker->resolve);
	r |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	r |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, broker);
	r |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	r |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	r |= curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, IDLE_S);
	r |= curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	return r == CURLE_OK ? 0 : -EIO;
}

static size_t head_line(char *line, size_t size, size_t count, void *cls)
{
	struct call *call = cls;
	int r = answer_line(&call->answer, line, size * count, &call->broker->definition,
			    call->broker->echo);

	if (r < 0)
		return 0;
	if (!call->answer.ended)
		return size * count;
	if (call->answer.refusal.status) {
		call->refusal = call->answer.refusal;
		return 0;
	}
	call->nudge_front = true;
	return size * count;
}

static size_t body_part(char *data, size_t size, size_t count, void *cls)
{
	struct call *call = cls;

	if (buffer_has(&call->down) >= DOWN_MAX) {
		call->down_paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	if (echo_feed(call->echo, data, size * count, &call->down) < 0)
		return 0;
	call->nudge_front = true;
	return size * count;
}

static size_t read_part(char *data, size_t size, size_t count, void *cls)
{
	struct call *call = cls;
	size_t len = buffer_take(&call->up, data, size * count);

	if (len) {
		call->nudge_front = true;
		return len;
	}
	if (call->up_ended)
		return 0;
	call->up_paused = true;
	return CURL_READFUNC_PAUSE;
}

/* A connection that the upstream had closed is found out late; then it is all sent once more. */
static int seek(void *cls, curl_off_t offset, int origin)
{
	struct call *call = cls;

	return !offset && origin == SEEK_SET && buffer_rewind(&call->up) ? CURL_SEEKFUNC_OK
									 : CURL_SEEKFUNC_FAIL;
}

static int add_header(struct call *call, const char *line)
{
	struct curl_slist *more = curl_slist_append(call->headers, line);

	if (!more)
		return -ENOMEM;
	call->headers = more;
	return 0;
}

static int add_headers(struct call *call)
{
	struct broker *broker = call->broker;
	char line[REQUEST_HEAD];
	int r = 0;

	for (size_t i = 0; r == 0 && i < call->request.header_count; i++) {
		const struct request_header *h = &call->request.headers[i];

		if (!head_passes(&broker->definition, h))
			continue;
		/* libcurl's word for a header without a value is a semicolon. */
		snprintf(line, sizeof(line), h->value.len ? "%.*s: %.*s" : "%.*s;%.*s",
			 (int)h->name.len, h->name.text, (int)h->value.len, h->value.text);
		r = add_header(call, line);
	}
	if (r == 0)
		r = add_header(call, "Accept-Encoding: identity");
	if (r == 0)
		r = add_header(call, "Expect:");
	return r < 0 ? r : add_header(call, broker->header);
}

static int set_method(struct call *call)
{
	const struct request *q = &call->request;
	const char *method = q->route->method;
	bool body = q->chunked || q->length || !strncmp(method, "P", 1);
	CURLcode r = CURLE_OK;

	if (!strcmp(method, "HEAD"))
		return curl_easy_setopt(call->easy, CURLOPT_NOBODY, 1L) ? -EIO : 0;
	if (body) {
		r |= curl_easy_setopt(call->easy, CURLOPT_UPLOAD, 1L);
		r |= curl_easy_setopt(call->easy, CURLOPT_INFILESIZE_LARGE,
				      q->chunked ? (curl_off_t)-1 : (curl_off_t)q->length);
		r |= curl_easy_setopt(call->easy, CURLOPT_READFUNCTION, read_part);
		r |= curl_easy_setopt(call->easy, CURLOPT_READDATA, call);
		r |= curl_easy_setopt(call->easy, CURLOPT_SEEKFUNCTION, seek);
		r |= curl_easy_setopt(call->easy, CURLOPT_SEEKDATA, call);
		r |= curl_easy_setopt(call->easy, CURLOPT_UPLOAD_BUFFERSIZE, 65536L);
	}
	r |= curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, method);
	return r ? -EIO : 0;
}

static int set_url(struct call *call)
{
	const struct request *q = &call->request;
	char url[BM_HOSTNAME_LEN + 32 + REQUEST_TARGET];

	snprintf(url, sizeof(url), "%s%.*s%s%.*s", call->broker->origin, (int)q->path.len,
		 q->path.text, q->has_query ? "?" : "", (int)q->query.len, q->query.text);
	return curl_easy_setopt(call->easy, CURLOPT_URL, url) ? -EIO : 0;
}

static int begin(struct call *call)
{
	struct broker *broker = call->broker;
	int r;

	call->easy = curl_easy_init();
	if (!call->easy)
		return -ENOMEM;
	r = echo_stream_new(broker->echo, &call->echo);
	if (r == 0)
		r = upstream_prepare(broker, call->easy);
	if (r == 0)
		r = set_url(call);
	if (r == 0)
		r = set_method(call);
	if (r == 0)
		r = add_headers(call);
	curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
	curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, head_line);
	curl_easy_setopt(call->easy, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, body_part);
	curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(call->easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(call->easy, CURLOPT_BUFFERSIZE, 65536L);
	if (r == 0 && curl_multi_add_handle(broker->multi, call->easy))
		r = -EIO;
	return r;
}

int upstream_call(struct call *call)
{
	int r = begin(call);

	if (r < 0)
		refuse(&call->refusal, 502, EIO, "broker-upstream", "call again",
		       "the call could not be made");
	return r;
}

void upstream_stop(struct call *call)
{
	if (call->easy) {
		curl_multi_remove_handle(call->broker->multi, call->easy);
		curl_easy_cleanup(call->easy);
	}
	call->easy = NULL;
	curl_slist_free_all(call->headers);
	call->headers = NULL;
}

static void ended(struct call *call, CURLcode why)
{
	bool time = why == CURLE_OPERATION_TIMEDOUT;

	upstream_stop(call);
	call->nudge_front = true;
	if (why == CURLE_OK && echo_finish(call->echo, &call->down) == 0) {
		call->down_ended = true;
		return;
	}
	/* By its own words alone: the upstream's may be anything. */
	if (!call->answer.ended && !call->refusal.status)
		refuse(&call->refusal, time ? 504 : 502, EIO, "broker-upstream",
		       "call again; if it stays so, benchmon broker verify tells more",
		       "the upstream did not answer: %s", curl_easy_strerror(why));
	call->down_failed = true;
	if (!call->cut)
		call->cut = "broker-upstream";
}

void upstream_event(struct broker *broker, int fd, uint32_t events)
{
	int running, what = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
			    (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			    (events & (EPOLLHUP | EPOLLERR) ? CURL_CSELECT_ERR : 0);

	curl_multi_socket_action(broker->multi, fd, what, &running);
}

void upstream_run(struct broker *broker)
{
	int running, left;
	struct CURLMsg *message;

	if (broker->timer && broker->timer <= now_ms()) {
		broker->timer = 0;
		curl_multi_socket_action(broker->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
	while ((message = curl_multi_info_read(broker->multi, &left))) {
		struct call *call = NULL;
		CURLcode result = message->data.result;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
		if (call)
			ended(call, result);
	}
}
