/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_CLI_DAEMON_H
#define BENCHMON_CLI_DAEMON_H

#define CLI_LOG_DIR "/var/log/benchmon"
#define CLI_LOG_PATH CLI_LOG_DIR "/gatekeeperd.log"

#endif
