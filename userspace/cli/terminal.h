/* SPDX-License-Identifier: GPL-2.0-only */
/* The operator's terminal, and the one that a payload gets instead of it. */
#ifndef BENCHMON_CLI_TERMINAL_H
#define BENCHMON_CLI_TERMINAL_H

#include "base/error.h"

/* A new pair with the size and the settings of the operator's terminal (-1: none). */
int cli_pty_open(int like, int *ret_master, int *ret_slave, struct bm_error *err);
/* Gives the master the size of the operator's terminal. */
void cli_pty_resize(int like, int master);

/* Raw until cli_terminal_restore(), which exit() calls too. */
int cli_terminal_raw(int fd, struct bm_error *err);
/* Async-signal-safe; does nothing the second time. */
void cli_terminal_restore(void);

#endif
