/* SPDX-License-Identifier: GPL-2.0-only */
/* "creating b1 ..." on a terminal's stderr, should it take longer than two seconds. */
#ifndef BENCHMON_CLI_PROGRESS_H
#define BENCHMON_CLI_PROGRESS_H

__attribute__((format(printf, 1, 2))) void cli_progress(const char *fmt, ...);
/* Clears the line, if it was shown. */
void cli_progress_done(void);

#endif
