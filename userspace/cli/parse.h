/* SPDX-License-Identifier: GPL-2.0-only */
/* What is typed, taken apart. Nothing here has an effect. */
#ifndef BENCHMON_CLI_PARSE_H
#define BENCHMON_CLI_PARSE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct cli_spec {
	char source[PATH_MAX];
	char dest[PATH_MAX]; /* "": none given */
	char rights[3];      /* "ro" or "rw" */
};

/* SRC[:DEST][:ro|rw]; DEST is absolute, so "a:ro" has none. */
int cli_parse_spec(const char *spec, struct cli_spec *ret, struct bm_error *err);
int cli_parse_rights(const char *text, char ret[3], struct bm_error *err);
/* "4096", "512K", "2G", "1GiB"; binary, at least 1. */
int cli_parse_size(const char *text, int64_t *ret, struct bm_error *err);
/* "90s", "10m", "2h", "1d": in seconds, from one second to a year. */
int cli_parse_duration(const char *text, int64_t *ret, struct bm_error *err);
/* Decimal digits only. what names it in the error. */
int cli_parse_number(const char *what, const char *text, int64_t min, int64_t max, int64_t *ret,
		     struct bm_error *err);
/* "8080", "8080/tcp", "53/udp". *ret_protocol is "tcp" or "udp". */
int cli_parse_port(const char *text, int64_t *ret, const char **ret_protocol, struct bm_error *err);
/* K=V, or K with its value from env (NULL: there is none). *ret_value points into one of both. */
int cli_parse_env(const char *text, char *ret_key, size_t size, const char **ret_value,
		  struct bm_error *err);
/* The name that a directory has at its own place: "src" of "../src/", the real one of ".". */
int cli_parse_base(const char *path, char ret[NAME_MAX + 1], struct bm_error *err);

struct cli_except {
	char name[256];
	bool readable; /* else hidden */
};

/* NAME[:ro]; a path below what is granted, without "." and "..". */
int cli_parse_except(const char *text, struct cli_except *ret, struct bm_error *err);

bool cli_is_utf8(const char *text);
/* How many letters must change; what dispatch suggests by. */
unsigned cli_distance(const char *a, const char *b);

#endif
