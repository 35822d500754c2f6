/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_CLI_SOURCE_H
#define BENCHMON_CLI_SOURCE_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Opens what is to be granted with the caller's own credentials, which is the proof that the
 * caller may have it: a directory or a regular file, for writing too if asked.
 */
int cli_source_open(const char *path, bool writable, int *ret_fd, struct bm_error *err);

#endif
