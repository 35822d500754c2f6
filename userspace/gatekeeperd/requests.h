/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may be asked: one row a request, with its keys and their types, and what is checked of a
 * message before anything is done. Nothing here knows a kernel; tests/fuzz drives it alone.
 */
#ifndef BENCHMON_GATEKEEPERD_REQUESTS_H
#define BENCHMON_GATEKEEPERD_REQUESTS_H

#include <stdbool.h>

#include "protocol/protocol.h"

struct connection;
struct daemon;

/*
 * A request. On success *ret_reply (an object) gets what belongs beside "ok", or stays NULL when
 * the answer has been given already. message's fds are taken with TAKE_FD.
 */
typedef int (*request_fn)(struct daemon *d, struct connection *c, struct bm_message *message,
			  struct json_object **ret_reply, struct bm_error *err);

/* Each has a function request_NAME and a row in requests.c. */
#define BM_REQUESTS(X)                                                                             \
	X(version)                                                                                 \
	X(create)                                                                                  \
	X(attach)                                                                                  \
	X(adopt)                                                                                   \
	X(detach)                                                                                  \
	X(freeze)                                                                                  \
	X(thaw)                                                                                    \
	X(destroy)                                                                                 \
	X(request)                                                                                 \
	X(pending)                                                                                 \
	X(reject)                                                                                  \
	X(grant)                                                                                   \
	X(confirm)                                                                                 \
	X(revoke)                                                                                  \
	X(ls)                                                                                      \
	X(show)                                                                                    \
	X(events)                                                                                  \
	X(why)                                                                                     \
	X(suggest)                                                                                 \
	X(ledger)                                                                                  \
	X(ledger_rotate)                                                                           \
	X(receipts)                                                                                \
	X(receipt)                                                                                 \
	X(profile_ls)                                                                              \
	X(profile_show)                                                                            \
	X(profile_verify)                                                                          \
	X(profile_seal)                                                                            \
	X(profile_refresh)                                                                         \
	X(profile_unseal)                                                                          \
	X(profile_pending)                                                                         \
	X(broker_ls)                                                                               \
	X(broker_verify)                                                                           \
	X(exec)                                                                                    \
	X(carriers)                                                                                \
	X(carrier_clear)

#define BM_REQUEST_DECLARED(name)                                                                  \
	int request_##name(struct daemon *d, struct connection *c, struct bm_message *message,     \
			   struct json_object **ret_reply, struct bm_error *err);
BM_REQUESTS(BM_REQUEST_DECLARED)

/* What a peer is, by its credentials when it connected. */
enum peer_role {
	PEER_STRANGER,
	PEER_AGENT, /* may only ask; what is its own it sees */
	PEER_OPERATOR,
	PEER_BENCH, /* came in by a Bench's own way, and is of that Bench */
	PEER_ROLE_MAX
};

struct request {
	const char *op;
	request_fn fn;
	size_t fds;
	unsigned who; /* 1 << PEER_*; with PEER_STRANGER nobody is looked at */
	const char *keys[25];
};

/* Whether one of that role may ask it. */
bool request_allowed(const struct request *request, enum peer_role role);

/* A refusal by this rule has "v" beside it: the version that is spoken here. */
#define REQUEST_VERSION_RULE "protocol-version"

/* The row that "v" and "op" of a message mean. -EPROTO: they mean none; -ENOSYS: none of ours. */
int request_find(struct json_object *message, const struct request **ret, struct bm_error *err);

/* That it has no key but those of its row, each of its type, and no more fds than it takes. */
int request_check(const struct request *request, const struct bm_message *message,
		  struct bm_error *err);

#endif
