/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_CLI_DAEMON_H
#define BENCHMON_CLI_DAEMON_H

#include <stdbool.h>

#include "base/error.h"

#define CLI_LOG_DIR "/var/log/benchmon"
#define CLI_LOG_PATH CLI_LOG_DIR "/gatekeeperd.log"

/* Whether systemd runs here and has a gatekeeperd.service that executes daemon, a path. */
bool cli_service_of(const char *daemon);
/* Returns when the service says that it is ready, or with why it is not. */
int cli_service_start(struct bm_error *err);

#endif
