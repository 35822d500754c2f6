/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * No relay. What a Bench with a secret could write is a carrier: a secret from then on for every
 * other Bench, as long as the ledger knows it, until an operator clears it. So is what was granted
 * as a secret.
 */
#ifndef BENCHMON_CARRIERS_H
#define BENCHMON_CARRIERS_H

#include "gatekeeperd/daemon.h"

#define CARRIERS_MAX 4096

struct carrier {
	struct carrier *next;
	uint32_t number;
	uint64_t device, inode;
	int64_t born_ns; /* birth time; 0: its file system has none */
	char of[BM_GRANT_ID_LEN];
	char *source;
};

/* The object of fd itself, or one that it lies in, if it is a carrier; NULL. -errno: unknown. */
int carrier_above(const struct model *model, int fd, bool directory, const char *path,
		  const struct carrier **ret);

/*
 * g makes carriers, by what it is or because the Bench gets its first secret by it. Whoever else
 * holds one of them never gets egress any more, and what they can write is one too; -EPERM by the
 * rule no-relay where somebody has egress already, and then nothing is changed. Once g's object is
 * pinned and before the kernel has it.
 */
int carriers_begin(struct daemon *d, struct bench *bench, const struct grant *g,
		   struct bm_error *err);

/* Lines of the ledger. -EBADMSG. */
int carrier_replay(struct model *model, const char *event, struct json_object *json);
int carriers_restate(struct daemon *d, struct bm_error *err);
void carriers_free(struct model *model);

#endif
