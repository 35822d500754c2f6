/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a service manager and its service say to each other, as systemd has it: sd_notify(3) and
 * sd_listen_fds(3), without its library.
 */
#ifndef BENCHMON_GATEKEEPERD_SERVICE_H
#define BENCHMON_GATEKEEPERD_SERVICE_H

#include "base/error.h"

#define SERVICE_NONE ((struct service){ .notify = -1, .listener = -1 })

struct service {
	int notify;   /* connected to the manager; -1: nobody wants to hear */
	int listener; /* the socket to listen at, as it was handed over; -1: none was */
};

/*
 * Takes what the environment names and removes it there, so that no program that is executed later
 * (crun hands NOTIFY_SOCKET on to its container) takes it for its own. Exactly one socket is taken,
 * listening, AF_UNIX, SOCK_SEQPACKET, with a path. Release with service_end().
 */
int service_begin(struct service *ret, struct bm_error *err);
void service_end(struct service *service);

/* "READY=1\nSTATUS=..."; nobody waits for it, and a manager that doesn't hear it hears the next. */
void service_tell(const struct service *service, const char *state);

#endif
