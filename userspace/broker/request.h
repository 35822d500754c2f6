/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The head of a request, as its bytes are: read once and strictly, before anything else reads it.
 * What two servers could read differently is refused. Nothing here touches a socket.
 */
#ifndef BENCHMON_BROKER_REQUEST_H
#define BENCHMON_BROKER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/broker.h"

#define REQUEST_HEAD 16384 /* bytes of a head */
#define REQUEST_TARGET 4096
#define REQUEST_HEADERS 64

struct slice {
	const char *text;
	size_t len;
};

struct request_header {
	struct slice name, value;
};

/* Points into the head. */
struct request {
	struct slice method, path, query;
	bool has_query;
	struct request_header headers[REQUEST_HEADERS];
	size_t header_count;
	bool chunked;
	uint64_t length; /* of the body, where it is not chunked */
	bool expects;    /* 100-continue */
	const struct bm_broker_route *route;
};

/* What the client is told: an HTTP status, and an error as everywhere. */
struct refusal {
	int status;
	struct bm_error error;
};

/*
 * Looks for the end of a head in what has come so far, from *seen on, which it moves. >0: the
 * length of the head with its empty line. 0: not there yet. -EBADMSG, -E2BIG: refused.
 */
int head_end(const char *data, size_t len, size_t *seen, struct refusal *ret);
/* Takes a whole head apart. */
int head_parse(const char *head, size_t len, struct request *ret, struct refusal *refusal);
/* Whether the definition has it, and Host is one of hosts; finds its route. */
int head_check(struct request *request, const struct bm_broker *broker, const char *const *hosts,
	       struct refusal *refusal);
/* Whether a header goes upstream: the definition's, and a few that say what a body is. */
bool head_passes(const struct bm_broker *broker, const struct request_header *header);

__attribute__((format(printf, 6, 7))) int refuse(struct refusal *refusal, int status, int code,
						 const char *rule, const char *remedy,
						 const char *fmt, ...);
/* {"error": {"message", "rule", "remedy"}}; the caller's. */
struct json_object *refusal_json(const struct refusal *refusal);

#endif
