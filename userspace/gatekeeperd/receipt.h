/* SPDX-License-Identifier: GPL-2.0-only */
/* What is told of a Bench when it has ended: gathered while it lives, written once, signed. */
#ifndef BENCHMON_GATEKEEPERD_RECEIPT_H
#define BENCHMON_GATEKEEPERD_RECEIPT_H

#include "audit/receipt.h"
#include "bench/outputs.h"
#include "gatekeeperd/daemon.h"

/* Of the grants that have ended: the newest so many, in no more bytes. The ledger has all. */
#define RECEIPT_GRANTS 256
#define RECEIPT_GRANTS_BYTES (1 << 20)
#define RECEIPT_DENIALS 32

/* What a grant was, and when and why it ended. */
void receipt_grant(struct bench *bench, const struct grant *g, const char *when,
		   const char *reason);
/* The same, said again in a new file of the ledger, and read from there; -EBADMSG. */
int receipt_restate(struct daemon *d, const struct bench *bench, struct bm_error *err);
int receipt_replay(struct bench *bench, struct json_object *json);
/* How many that has been said of. */
uint64_t receipt_grants_ended(const struct bench *bench);
/* What was written while it was granted; or why nobody looked. */
void receipt_output(struct bench *bench, const struct grant *g, const struct bm_outputs *outputs,
		    const char *why);
/* Once nothing of it is denied any more, and before the kernel's counters go. */
void receipt_denials(struct daemon *d, struct bench *bench);

/* The document without key and signature; fields of the ledger's last line: reason?, uid?. The
 * caller owns it; NULL when out of memory. */
struct json_object *receipt_build(const struct bench *bench, const char *event,
				  struct json_object *fields, uint64_t realtime_ns,
				  const struct bm_chain *head);

/*
 * Writes it, or keeps the one that an end which did not come through has left. fields gets its name
 * and digest; reply, which may be NULL, these and a summary. A Bench ends also without: then both
 * say why.
 */
void receipt_write(struct daemon *d, const struct bench *bench, const char *event,
		   struct json_object *fields, struct json_object *reply);

/*
 * receipts.c: the answer to a request that would end a Bench of that name, where event has ended it
 * already; -ENOENT.
 */
int receipt_ended(struct daemon *d, uid_t uid, struct json_object *request, const char *event,
		  struct json_object **ret_reply);

#endif
