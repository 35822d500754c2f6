/* SPDX-License-Identifier: GPL-2.0-only */
/* To stderr, with the systemd level prefix where stderr is no terminal. */
#ifndef BENCHMON_GATEKEEPERD_LOG_H
#define BENCHMON_GATEKEEPERD_LOG_H

#include <stdbool.h>

#include "base/error.h"

/* As syslog(3) counts them: what is above the threshold is not written. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

/* LOG_LEVEL_INFO until then. */
void daemon_log_level(enum log_level level);
/* "error", "warning", "info" or "debug". */
const char *log_level_name(enum log_level level);
bool log_level_parse(const char *name, enum log_level *ret);

__attribute__((format(printf, 2, 3))) void daemon_log(enum log_level level, const char *fmt, ...);
void daemon_log_error(const char *what, const struct bm_error *err);

#endif
