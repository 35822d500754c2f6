/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `benchmon why`: what would become of it, layer by layer, in the order in which they are met. No
 * layer is thought up here: the kernel's programs are asked (kernel.h), mounts, modes and nft are
 * read as they are.
 */
#ifndef BENCHMON_GATEKEEPERD_WHY_H
#define BENCHMON_GATEKEEPERD_WHY_H

#include "gatekeeperd/daemon.h"

/* What a layer says; rule NULL: nothing is against it. */
void why_layer(struct json_object *why, const char *layer, const char *rule, const char *hook,
	       const char *at);
/* A layer that ought to be there, and is not. */
void why_missing(struct json_object *why, const char *layer);
/* By what: the grant of that number; 0: none. */
void why_grant(struct json_object *why, const struct bench *bench, uint32_t number);
/* "verdict", and of the first layer that refuses "layer", "rule", "hook" and the words for it. */
void why_judge(struct json_object *why, uint32_t rule);

/* Each fills why, that has "bench", "kind" and "target". */
int why_file(struct daemon *d, struct bench *bench, struct json_object *request,
	     struct json_object *why, struct bm_error *err);
int why_net(struct daemon *d, struct bench *bench, struct json_object *request,
	    struct json_object *why, struct bm_error *err);
int why_last(struct daemon *d, struct bench *bench, struct json_object *why, struct bm_error *err);

#endif
