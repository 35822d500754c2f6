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

/* One timer for all: at the earliest of what is due. */
void daemon_timer(struct daemon *d, enum daemon_timer which, uint64_t due_ns)
{
	struct itimerspec when = {};
	uint64_t ns = 0;

	d->due_ns[which] = due_ns;
	for (int i = 0; i < DAEMON_TIMERS; i++)
		if (d->due_ns[i] && (!ns || d->due_ns[i] < ns))
			ns = d->due_ns[i];
	when.it_value = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	timerfd_settime(d->timer.fd, TFD_TIMER_ABSTIME, &when, NULL);
}
