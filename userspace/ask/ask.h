/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * benchmon as it is inside a Bench: all it can do is ask. Static, because the root file system may
 * have nothing else; without any authority, because whoever is in the Bench may as well speak to
 * the socket itself.
 */
#ifndef BENCHMON_ASK_ASK_H
#define BENCHMON_ASK_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/* Beside the client, where gatekeeperd mounts both (bench/door.h). */
#define ASK_SOCKET "/run/benchmon/socket"

/* As those of benchmon outside. */
enum ask_exit {
	ASK_REFUSED = 1, /* an operator said no */
	ASK_USAGE = 2,
	ASK_FAILED = 125,
};

struct ask {
	const char *command; /* request, version or help; NULL: none */
	const char *kind;    /* file, net, listen, broker */
	const char *what;
	const char *why;
	int64_t seconds; /* --for; 0: none */
	bool json, wait, help;
};

/* -EINVAL: it can't be understood, and err says what of it. */
int ask_parse(int argc, char **argv, struct ask *ret, struct bm_error *err);
/* The request's own fields. */
int ask_request(const struct ask *ask, struct json_object **ret, struct bm_error *err);

#endif
