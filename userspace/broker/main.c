// SPDX-License-Identifier: GPL-2.0-only
/* benchmon-broker: see README.md. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "broker/broker.h"

#define EVENTS 64

uint64_t now_ms(void)
{
	return bm_now_ns(CLOCK_MONOTONIC) / 1000000;
}

static int watch(struct broker *broker, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(broker->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int front_fd(struct broker *broker)
{
	return MHD_get_daemon_info(broker->front, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

static int start(struct broker *broker, struct bm_error *err)
{
	int r = config_receive(broker, err);

	if (r == 0 && !broker->verify)
		r = config_hosts(broker, err);
	if (r == 0)
		r = upstream_start(broker, err);
	if (r < 0 || broker->verify)
		return r < 0 ? r : confine_process(broker, err);
	broker->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (broker->epoll < 0)
		return bm_fail_errno(err, errno, "epoll");
	quota_init(&broker->quota, &broker->limits, now_ms());
	quota_used(&broker->quota, broker->used_requests, broker->used_bytes);
	r = bridge_start(broker, err);
	if (r == 0)
		r = front_start(broker, err);
	if (r == 0 && (watch(broker, CONTROL, EPOLLIN | EPOLLRDHUP) < 0 ||
		       watch(broker, front_fd(broker), EPOLLIN) < 0))
		r = bm_fail_errno(err, errno, "epoll");
	return r < 0 ? r : confine_process(broker, err);
}

static int timeout_of(struct broker *broker)
{
	uint64_t now = now_ms();
	int ms = front_deadlines(broker);
	unsigned MHD_LONG_LONG front;

	if (MHD_get_timeout(broker->front, &front) == MHD_YES && front < (unsigned int)ms)
		ms = (int)front;
	if (broker->timer && broker->timer < now + (unsigned int)ms)
		ms = broker->timer > now ? (int)(broker->timer - now) : 0;
	return ms;
}

static void dispatch(struct broker *broker, const struct epoll_event *event)
{
	int fd = event->data.fd;

	if (fd == CONTROL) {
		/* The grant has ended, or whoever would record its calls. */
		if (event->events & ~EPOLLOUT)
			_exit(0);
	} else if (fd == LISTENER) {
		front_accept(broker);
	} else if (fd >= 0 && fd < FDS && broker->calls[fd]) {
		front_event(broker->calls[fd], event->events);
	} else if (fd != front_fd(broker)) {
		upstream_event(broker, fd, event->events);
	}
}

static void run(struct broker *broker)
{
	struct epoll_event events[EVENTS];
	bool waits = false;

	for (;;) {
		int count;

		do {
			upstream_run(broker);
			MHD_run(broker->front);
		} while (bridge_nudge(broker));
		if (waits == control_flush(broker)) {
			struct epoll_event event = { .data.fd = CONTROL };

			waits = !waits;
			event.events = EPOLLIN | EPOLLRDHUP | (waits ? EPOLLOUT : 0);
			epoll_ctl(broker->epoll, EPOLL_CTL_MOD, CONTROL, &event);
		}
		front_update(broker);
		count = epoll_wait(broker->epoll, events, EVENTS, timeout_of(broker));
		for (int i = 0; i < count; i++)
			dispatch(broker, &events[i]);
	}
}

int main(void)
{
	struct broker *broker = calloc(1, sizeof(*broker));
	autojson *ready = json_object_new_object();
	struct bm_error err = {};
	int r;

	signal(SIGPIPE, SIG_IGN);
	/* What its starter forgot to close is nobody's. */
	if (!broker || !ready || syscall(SYS_close_range, CONTROL + 1, ~0u, 0) < 0)
		return 1;
	r = start(broker, &err);
	if (r == 0 && broker->verify)
		r = verify_run(broker, &err);
	if (r < 0) {
		control_fail(&err);
		return 1;
	}
	if (broker->verify)
		return 0;
	bm_json_add_bool(ready, "ready", true);
	bm_json_add_string(ready, "locked", broker->locked);
	if (control_tell(ready) < 0)
		return 1;
	run(broker);
}
