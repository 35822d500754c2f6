/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_CLI_HINT_H
#define BENCHMON_CLI_HINT_H

#include <stddef.h>

/*
 * "benchmon grant b2 net A:80" is of no use once b2 is destroyed: what it is for the next run,
 * "--net A:80". Any other hint stays as it is. Returns buf.
 */
const char *cli_hint_for_run(const char *hint, const char *bench, char *buf, size_t size);

#endif
