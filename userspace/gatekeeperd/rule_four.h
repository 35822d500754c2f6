/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fourth rule: a Bench never has both egress and a secret, for its life. What it has had stands
 * in the ledger ("ever") and in the kernel, which decides by its own word of it (bpf/both.h).
 */
#ifndef BENCHMON_RULE_FOUR_H
#define BENCHMON_RULE_FOUR_H

#include "gatekeeperd/daemon.h"

/* What of a grant the rule is about: bits. */
enum way {
	WAY_SECRET = BM_EVER_SECRET, /* a secret can be read by it */
	WAY_EGRESS = BM_EVER_EGRESS, /* data can leave by it */
	WAY_BROKER = 4,              /* data can leave by it, to the upstream of one broker */
};

/* Of a grant of that kind. */
uint32_t kind_ways(enum grant_kind kind, bool secret);
uint32_t grant_ways(const struct grant *g);

/*
 * Whether the Bench may get ways beside all that it has and ever had: -EPERM by the rule
 * never-both. with_secret: a secret beside a broker was asked for as such (--with-secret). Asked
 * when a grant is shown, and again by rule_four_begin().
 */
int rule_four_check(struct daemon *d, const struct bench *bench, uint32_t ways, bool with_secret,
		    struct bm_error *err);

/*
 * Right before the kernel gets g, whose line the ledger has: checked again, recorded, and claimed
 * in the kernel. From here on it stays so, also when g fails.
 */
int rule_four_begin(struct daemon *d, struct bench *bench, const struct grant *g,
		    struct bm_error *err);

/* It learns: what it does not hold back counts as egress that it has, from now on. */
int rule_four_learn(struct daemon *d, struct bench *bench, struct bm_error *err);

/* Somebody else's grant makes it able to read a secret: from now on as if it had one. */
int rule_four_reached(struct daemon *d, struct bench *bench, struct bm_error *err);

/* For a confirmation that needs --with-secret: "leaves", a list of what would stand beside what. */
void rule_four_describe(struct json_object *json, const struct bench *bench, uint32_t ways);

/* What it has, or had, by name; NULL never. */
struct json_object *rule_four_to_json(struct daemon *d, const struct bench *bench);

/* At a restart: of ledger and kernel both get what either has. */
int rule_four_adopt(struct daemon *d, struct bench *bench, struct bm_error *err);
/* The ledger's line of it. -EBADMSG. */
int rule_four_replay(struct bench *bench, struct json_object *json);

#endif
