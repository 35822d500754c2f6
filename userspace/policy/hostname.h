/* SPDX-License-Identifier: GPL-2.0-only */
/* A host name as a profile may hold it: one validator for everything that is going to be resolved.
 */
#ifndef BENCHMON_HOSTNAME_H
#define BENCHMON_HOSTNAME_H

#include <stddef.h>

#include "base/error.h"

/* 253 bytes and a NUL. */
#define BM_HOSTNAME_LEN 254

/*
 * A full name of letters, digits and hyphens: at least two labels of 1 to 63 bytes, the last of
 * which begins with a letter, so that no resolver takes it for an address; no dot at the end, no
 * underscore, nothing international but its xn-- form. len bytes, NULs among them are seen.
 * ret gets it in lower case. -EINVAL with the byte and its position, counted from 1.
 */
int bm_hostname_parse(const char *text, size_t len, char ret[BM_HOSTNAME_LEN],
		      struct bm_error *err);

#endif
