/* SPDX-License-Identifier: GPL-2.0-only */
/* The head of the upstream's answer: what of it the Bench is given. Nothing here touches a socket.
 */
#ifndef BENCHMON_BROKER_ANSWER_H
#define BENCHMON_BROKER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/echo.h"
#include "broker/request.h"

#define ANSWER_HEADERS 64

struct answer {
	int status;
	bool ended; /* the whole head is there */
	bool has_length, elsewhere;
	uint64_t length;
	struct {
		char *name, *value;
	} headers[ANSWER_HEADERS];
	size_t header_count;
	uint64_t hidden; /* credentials found in it */
	char *location;
	struct refusal refusal; /* status 0: none */
};

/*
 * One line of it, as it came, with its end. A head of 1xx is forgotten at its end. -ENOMEM; what
 * is wrong with the answer is in its refusal.
 */
int answer_line(struct answer *answer, const char *line, size_t len, const struct bm_broker *broker,
		const struct echo *echo);
void answer_done(struct answer *answer);
/* Of a Location: the path of it where it is the upstream's own, else NULL. Points into location. */
const char *answer_own_path(const char *location, const struct bm_broker *broker);

#endif
