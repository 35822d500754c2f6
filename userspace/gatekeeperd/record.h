/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's ledger: opened, kept within its files, and what of it a new file says again. */
#ifndef BENCHMON_RECORD_H
#define BENCHMON_RECORD_H

#include "gatekeeperd/daemon.h"

/* Opens the ledger in d->state_dir, against what the kernel keeps of it. */
int ledger_open(struct daemon *d, struct bm_error *err);
/* From now on the kernel and the log keep where it ends. */
void ledger_watch(struct daemon *d);

/* Between two rounds of the loop: writes what is owed, begins a new file where one is due. */
void ledger_turn(struct daemon *d);
/* How long the loop may wait for the next round, in ms; -1: for ever. */
int ledger_patience(const struct daemon *d);

/* Begins a new file with all that stands; *ret_old is the name that the one before has now. */
int ledger_rotate(struct daemon *d, char ret_old[64], struct bm_error *err);

/*
 * What the ledger says of a Bench and a new file has to say again, as it was said: the newest line
 * of each event, but for grants and their ends (restate.c says those from the model) and for what
 * no replay asks for. json stays the caller's.
 */
void standing_keep(struct bench *bench, const char *event, struct json_object *json);

/* restate.c: all of the model, as lines of the ledger from which replay.c makes it again. */
int restate(struct daemon *d, struct bm_error *err);

/* To and from what the kernel keeps. */
void ledger_end_of(const struct bm_chain *head, struct bm_ledger_end *ret);
void ledger_chain_of(const struct bm_ledger_end *end, struct bm_chain *ret);

#endif
