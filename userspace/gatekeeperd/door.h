/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The doors of Benches, by which they ask (bench/door.h): which Bench it is, is known by which
 * socket it came through. Whatever one does there, it costs nobody else anything: it has two
 * connections, small messages, and a pace.
 */
#ifndef BENCHMON_GATEKEEPERD_DOOR_H
#define BENCHMON_GATEKEEPERD_DOOR_H

#include "bench/own.h"
#include "gatekeeperd/daemon.h"

struct door;

/* At the start: what is needed for any, and away with those of no Bench. */
int doors_begin(struct daemon *d, struct bm_error *err);

/*
 * Makes the door of a Bench whose tasks are frozen, and adds it to own. Without one it can't ask,
 * and is a Bench as any other: that is logged, and no error.
 */
void door_open(struct daemon *d, struct bench *bench, struct bm_own_list *own);
/* After a restart: new sockets in the place of the last daemon's, where Benches had one. */
void doors_reopen(struct daemon *d);
/* Nobody gets in any more, who is there is hung up on, and nothing of it stays. */
void door_close(struct daemon *d, struct bench *bench);
/* "door" of its B, if it has one. */
void door_add(const struct daemon *d, const struct bench *bench, struct json_object *json);

/* connection.c: one message of a connection that came in there; -EAGAIN: not now. */
int door_receive(struct daemon *d, struct connection *c, struct bm_message *ret,
		 struct bm_error *err);
/* Whether it may be asked there, whoever else may ask it. */
bool door_takes(const struct request *request);
/* It was refused: counted, and logged. */
void door_refused(struct daemon *d, struct connection *c, const struct bm_error *err);
int door_reply(struct connection *c, struct json_object *reply);
/* A connection has been closed. */
void door_left(struct daemon *d, struct connection *c);

/* CLOCK_MONOTONIC ns, by which it has to ask something. */
uint64_t door_deadline(const struct connection *c);

/* Frees what was closed; at the end of the daemon, all of them. */
void doors_bury(struct daemon *d);
void doors_end(struct daemon *d);

#endif
