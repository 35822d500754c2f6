// SPDX-License-Identifier: GPL-2.0-only
/* What every handler needs of the daemon: its event loop. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "gatekeeperd/daemon.h"

int daemon_watch(struct daemon *d, struct watch *w, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = w };

	return epoll_ctl(d->epoll, EPOLL_CTL_ADD, w->fd, &event) < 0 ? -errno : 0;
}

void daemon_unwatch(struct daemon *d, struct watch *w)
{
	epoll_ctl(d->epoll, EPOLL_CTL_DEL, w->fd, NULL);
}

void daemon_timer(struct daemon *d, uint64_t ns)
{
	struct itimerspec when = { .it_value = { (time_t)(ns / 1000000000),
						 (long)(ns % 1000000000) } };

	timerfd_settime(d->timer.fd, TFD_TIMER_ABSTIME, &when, NULL);
}
