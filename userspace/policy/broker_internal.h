/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of the parser of brokers' definitions. */
#ifndef BENCHMON_POLICY_BROKER_INTERNAL_H
#define BENCHMON_POLICY_BROKER_INTERNAL_H

#include "policy/broker.h"

/* Where in the document: errors say it before anything else. */
struct broker_place {
	const char *what;
	const char *list; /* "allow" */
	size_t entry;     /* from 1; 0: not in a list */
	const char *key;
	struct bm_error *err;
};

enum broker_word { BROKER_TEXT, BROKER_VISIBLE, BROKER_TOKEN };

__attribute__((format(printf, 3, 4))) int bm_broker_wrong(const struct broker_place *at,
							  const char *remedy, const char *fmt, ...);
/* 1 when it is there and of that type, 0 when it is not there and need not be. */
int bm_broker_look_up(const struct broker_place *at, struct json_object *json, enum json_type type,
		      bool must, struct json_object **ret);
/* A string of 1 to size - 1 bytes: with spaces, without, or as the name of a header. */
int bm_broker_word(const struct broker_place *at, struct json_object *value, enum broker_word kind,
		   char *ret, size_t size);

int bm_broker_take_routes(struct broker_place at, struct json_object *json,
			  struct bm_broker *broker);
int bm_broker_take_headers(struct broker_place at, struct json_object *json,
			   struct bm_broker *broker);
int bm_broker_take_variables(struct broker_place at, struct json_object *json,
			     struct bm_broker *broker);
int bm_broker_take_verify(struct broker_place at, struct json_object *json,
			  struct bm_broker *broker);

#endif
