/* SPDX-License-Identifier: GPL-2.0-only */
/* Freezing while the loop goes on: a task that the kernel keeps makes nobody wait but who asked. */
#ifndef BENCHMON_GATEKEEPERD_FREEZE_H
#define BENCHMON_GATEKEEPERD_FREEZE_H

#include "gatekeeperd/daemon.h"

struct freezing;

/* Nobody waits for the answer any more; it is frozen all the same. */
void freezing_unheard(struct freezing *f);
/* It is thawed, or ended, before it stood still: whoever waits for that is told so. */
void freezings_give_up(struct daemon *d, struct bench *bench, const char *why);
/* Gives up those that are overdue, and comes again by itself. */
void freezings_review(struct daemon *d);
/* Frees those that are over; nothing of this round points at them any more. */
void freezings_bury(struct daemon *d);
/* The daemon stops: the next one carries them through. */
void freezings_abandon(struct daemon *d);

#endif
