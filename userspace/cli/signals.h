/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the commands that have something to undo: SIGINT, SIGTERM, SIGHUP and SIGQUIT are noted
 * instead of ending us at once, and SIGPIPE becomes EPIPE.
 */
#ifndef BENCHMON_CLI_SIGNALS_H
#define BENCHMON_CLI_SIGNALS_H

#include <stdbool.h>

#include "base/error.h"

int cli_signals_catch(struct bm_error *err);
/* The signal that asked us to end; 0: none. */
int cli_interrupted(void);
/* Readable after a signal, for poll(); -1 before cli_signals_catch(). */
int cli_signals_fd(void);
/* Empties it; true if the size of the terminal changed since the last call. */
bool cli_signals_resized(void);

#endif
