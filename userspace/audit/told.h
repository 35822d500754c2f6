/* SPDX-License-Identifier: GPL-2.0-only */
/* Up to which number the events of each Bench are told, and are in the file. */
#ifndef BENCHMON_TOLD_H
#define BENCHMON_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

struct bm_told_of {
	uint32_t id;
	uint64_t stored; /* the last number that is in the file, or said there to be missing */
};

struct bm_told {
	struct bm_told_of *list; /* by id */
	size_t count, room;
};

/* NULL: there is none. */
struct bm_told_of *bm_told_find(const struct bm_told *told, uint32_t id);
/* NULL when out of memory; a new one has stored 0. */
struct bm_told_of *bm_told_add(struct bm_told *told, uint32_t id);
void bm_told_remove(struct bm_told *told, uint32_t id);
/* The line that begins a file, so that it needs none of those before it; NULL: out of memory. */
struct json_object *bm_told_to_json(const struct bm_told *told);
/* Takes over what such a line says; any other is passed by. */
void bm_told_from_line(struct bm_told *told, const char *line);
void bm_told_done(struct bm_told *told);

#endif
