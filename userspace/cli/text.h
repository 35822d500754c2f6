/* SPDX-License-Identifier: GPL-2.0-only */
/* Output for people: at most CLI_WIDTH columns of our own words, nothing foreign unescaped. */
#ifndef BENCHMON_CLI_TEXT_H
#define BENCHMON_CLI_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

#define CLI_WIDTH 80
#define CLI_SHOWN 4096
#define CLI_SHORT 64 /* the least that cli_show() fills */

/*
 * bm_escape() for text that the daemon may have escaped already: what is an escape stays one.
 * Returns buf.
 */
const char *cli_show(const char *text, char *buf, size_t size);
/* A string or number under key, shown; "-" when there is neither. Returns buf. */
const char *cli_show_key(struct json_object *json, const char *key, char *buf, size_t size);

/* The user whose number is under key: by name, where it has one. Returns buf. */
const char *cli_show_user(struct json_object *json, const char *key, char *buf, size_t size);

/* What was detached from a container, in a few words. Returns buf. */
const char *cli_show_detached(struct json_object *detached, char *buf, size_t size);

enum cli_colour {
	COLOUR_NONE,
	COLOUR_BOLD,
	COLOUR_DIM,
	COLOUR_RED,
	COLOUR_GREEN,
	COLOUR_YELLOW,
};
/* Both "" unless out is a terminal that has colours and NO_COLOR is not set. */
const char *cli_colour(FILE *out, enum cli_colour colour);
const char *cli_colour_end(FILE *out);
/* Of a Bench's state, as the daemon calls it. */
enum cli_colour cli_state_colour(const char *state);

/* Words of text, from column on (where the cursor is), continued at column. Ends the line. */
void cli_wrap(FILE *out, unsigned column, const char *text);

#define CLI_SIZE_LEN 32
/* "4.0 KiB"; returns buf. */
const char *cli_size(int64_t bytes, char buf[CLI_SIZE_LEN]);
#define CLI_AGE_LEN 16
/* "3 min ago" from RFC 3339, "-" from anything else; returns buf. */
const char *cli_age(const char *time, uint64_t now_s, char buf[CLI_AGE_LEN]);

/* A row at a time, the columns as wide as the widest cell; the caller owns cells until then. */
struct cli_table {
	const char *const *titles;
	size_t columns;
	uint32_t right; /* columns aligned to the right, bit by bit */
	char **cells;
	size_t count;
	/* Of what stands in a column; NULL: none. */
	enum cli_colour (*colour)(size_t column, const char *cell);
};
/* Copies columns cells; -ENOMEM. */
int cli_table_row(struct cli_table *table, const char *const *cells);
void cli_table_print(const struct cli_table *table, FILE *out);
void cli_table_done(struct cli_table *table);

/* A line for each name that a grant, or what is to become one, leaves out. */
void cli_print_excepts(FILE *out, struct json_object *grant, const char *prefix);

/* One line of JSON. */
void cli_print_json(FILE *out, struct json_object *json);

#endif
