/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has been asked for and awaits an operator: the queue, its bounds, and how the ledger tells
 * of it. Nothing here knows a kernel or a connection.
 */
#ifndef BENCHMON_GATEKEEPERD_ASKS_H
#define BENCHMON_GATEKEEPERD_ASKS_H

#include "base/error.h"
#include "gatekeeperd/model.h"

#define ASK_ID_LEN (BM_BENCH_NAME_LEN + 12) /* "b1/r3"; "r3" for a Bench itself */
/* Of what is asked for, and of why, as it is escaped. */
#define ASK_TARGET_LEN 1024
#define ASK_WHY_LEN 768
#define ASK_WHY_TYPED 256

struct ask {
	struct ask *next;
	uint32_t number;
	uint32_t bench_id;             /* 0: a Bench itself is asked for */
	char bench[BM_BENCH_NAME_LEN]; /* whose it is to be, or what it is to be called; "": any */
	bool inside;                   /* the Bench itself asks; else uid, from outside */
	uid_t uid;
	enum grant_kind kind; /* of a grant */
	bool image;           /* of a Bench: the target is an image of podman's, else a directory */
	char target[ASK_TARGET_LEN]; /* their words: a path, a profile, a port */
	char dest[DEST_LEN];
	bool writable;
	int64_t seconds;
	char why[ASK_WHY_LEN]; /* escaped */
	char asked[40], expires[40];
	uint64_t deadline_ns; /* CLOCK_BOOTTIME */
};

/* How many may be pending: in all, of one who asks or of one Bench, and for one user's Benches. */
struct ask_bounds {
	int64_t all, each, user;
};

const char *ask_id(const struct ask *ask, char ret[ASK_ID_LEN]);
/* "file", ..., "bench". */
const char *ask_kind_name(const struct ask *ask);
/* "b1/r3" or "r3"; -EINVAL. */
int ask_id_parse(const char *id, char ret_bench[BM_BENCH_NAME_LEN], uint32_t *ret_number);

/* bench_id 0: of a Bench itself. */
struct ask *asks_find(const struct model *model, uint32_t bench_id, uint32_t number);
struct ask *asks_find_id(const struct model *model, const char *id);
/* One that asks the same already, whatever its reason. */
struct ask *asks_find_same(const struct model *model, const struct ask *ask);
/* -EBUSY: too much is pending; -EAGAIN: too often. On success who asks has been counted. */
int asks_admit(struct model *model, const struct ask *ask, const struct ask_bounds *bounds,
	       uint64_t now_ns, struct bm_error *err);
/* The number that it will have; used up by asks_add(). */
uint32_t asks_next_number(const struct model *model, uint32_t bench_id);
/* Takes over ask; the queue is in the order of their age. */
void asks_add(struct model *model, struct ask *ask);
/* Removes and frees it. */
void asks_remove(struct model *model, struct ask *ask);
void asks_remove_bench(struct model *model, uint32_t bench_id);
/* When the first of them expires; 0: there is none. */
uint64_t asks_due(const struct model *model);

/* "request" and all else that the ledger says of it. */
struct json_object *ask_to_json(const struct ask *ask);
/* -EBADMSG; *ret is the caller's. */
int ask_from_json(struct json_object *json, struct ask **ret);
/* Whether event is one of theirs; -EBADMSG, -ENOMEM. */
bool asks_event(const char *event);
int asks_replay(struct model *model, const char *event, struct json_object *json);

#endif
