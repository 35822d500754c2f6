/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a Bench was refused, or would have been, as the shortest list of grants.
 *
 * A directory is granted as a whole where it was listed, or a name in it was made, moved or removed
 * (that takes w on the directory), or where at least SUGGEST_MANY of the names in it were used and
 * those are at least half of what it has. It is never one that the rules say never to, nor above
 * all that was used of the same volume. What is read and what is written are merged apart: one file
 * that is written does not make the rest of its directory writable.
 */
#ifndef BENCHMON_CLI_SUGGEST_H
#define BENCHMON_CLI_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

#define SUGGEST_MANY 4
#define SUGGEST_USES 8192 /* different ones; what is above is counted as left out */

struct suggest_use {
	char *source; /* on the host */
	char *dest;   /* the same as the Bench calls it */
	char *volume; /* the grant that it came with, "": none */
	bool writes;
	bool whole;  /* a directory, and all in it */
	bool looked; /* a directory that was only asked about: what is granted below it brings it */
	uint64_t count;
	struct json_object *first; /* event; owned */
};

/* One of `suggest`; the same, but of grants to make. */
struct suggest_list {
	struct suggest_use *list;
	size_t count;
	uint64_t left_out;
};

void suggest_done(struct suggest_list *list);
/* One more use, or one more of the same. Copies the texts, takes a reference to event. -ENOMEM. */
int suggest_add(struct suggest_list *list, const struct suggest_use *use);

struct suggest_rules {
	bool (*never)(void *ctx, const char *source);
	/* How many names a directory has; 0: not known. */
	size_t (*entries)(void *ctx, const char *source);
	void *ctx;
};

/* Empties uses; *ret in the order in which the grants are to be made. -ENOMEM. */
int suggest_merge(struct suggest_list *uses, const struct suggest_rules *rules,
		  struct suggest_list *ret);

/* Where all that can't be granted goes: [{"what", "path" or "destination", "why", "event"}]. */
struct suggest {
	struct suggest_list files;
	struct json_object *nets;  /* [{"destination", "count", "private"?, "event"}] */
	struct json_object *apart; /* what no grant gives */
	uint64_t events, suppressed;
};

void suggest_begin(struct suggest *s);
void suggest_end(struct suggest *s);
enum suggest_there { SUGGEST_NOTHING, SUGGEST_FILE, SUGGEST_DIRECTORY };
/* there: what the host has at a path, as far as that is known. */
int suggest_event(struct suggest *s, struct json_object *event,
		  enum suggest_there (*there)(const char *path));
void suggest_apart(struct suggest *s, const char *what, const char *key, const char *value,
		   const char *why, struct json_object *event);

#endif
