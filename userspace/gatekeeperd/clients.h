/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is connected: taken up, counted, and let go of when nothing comes from them any more. */
#ifndef BENCHMON_GATEKEEPERD_CLIENTS_H
#define BENCHMON_GATEKEEPERD_CLIENTS_H

#include "gatekeeperd/daemon.h"

/*
 * Listens at path, or at the socket that was handed over (service.h). d->socket_path gets where,
 * and is "" where it is not ours to remove.
 */
int clients_listen(struct daemon *d, const char *path, struct bm_error *err);

/* As many descriptors as the system allows: for us alone, so after the launcher has been forked. */
void clients_raise_limit(struct daemon *d);

/* Something has come from it, or gone to it: its time begins anew. */
void clients_touch(struct daemon *d, struct connection *c);
/* The process that connected, held so that its number stays its own; -errno. */
int clients_peer(int socket, pid_t pid);
/* A descriptor is free again. */
void clients_gone(struct daemon *d);

#endif
