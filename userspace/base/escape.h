/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_ESCAPE_H
#define BENCHMON_ESCAPE_H

#include <stddef.h>

/*
 * Makes text from a Bench or a file system fit for a terminal, a log and JSON: control
 * characters (C0, DEL, C1), bidirectional and zero-width marks, line and paragraph separators,
 * '\\' and bytes that are no UTF-8 become \xNN or \uNNNN. Cut at size with a final "...".
 * Returns buf.
 */
const char *bm_escape(const char *text, char *buf, size_t size);

#endif
