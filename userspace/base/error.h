/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An error as its reader needs it: what happened, by which rule, and what to do about it.
 * Functions return 0 or -errno and describe the failure in a struct bm_error; only a main prints.
 */
#ifndef BENCHMON_ERROR_H
#define BENCHMON_ERROR_H

#include <json-c/json.h>

struct bm_error {
	int code; /* positive errno; 0 while nothing has failed */
	char message[512];
	char rule[64];    /* "" when no rule of ours but the system refused */
	char remedy[256]; /* "" when there is nothing to advise */
};

/*
 * Fills err (which may be NULL) and returns -code. rule and remedy may be NULL. The first
 * failure is kept: a later one, met while cleaning up, does not overwrite its cause.
 */
__attribute__((format(printf, 5, 6))) int bm_fail(struct bm_error *err, int code, const char *rule,
						  const char *remedy, const char *fmt, ...);

/* The same for a failed system call: ": strerror(code)" is added. */
__attribute__((format(printf, 3, 4))) int bm_fail_errno(struct bm_error *err, int code,
							const char *fmt, ...);

/* {"errno","message","rule"?,"remedy"?}; NULL when out of memory. The caller owns it. */
struct json_object *bm_error_to_json(const struct bm_error *err);
int bm_error_from_json(struct json_object *json, struct bm_error *ret);

/* "message (rule: ...); remedy" on one line into buf; returns buf. */
const char *bm_error_line(const struct bm_error *err, char *buf, size_t size);

#endif
