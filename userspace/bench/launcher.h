/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one process that executes programs for the daemon: forked when the daemon starts, before that
 * gives up its capabilities and execve(2) itself. It takes no command lines: crun with one of four
 * verbs, rm and mkfs in our own directories, a payload that goes into a Bench, a broker. What it
 * starts is a child of the daemon's (CLONE_PARENT), not its own.
 */
#ifndef BENCHMON_LAUNCHER_H
#define BENCHMON_LAUNCHER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum bm_launch {
	BM_LAUNCH_CRUN,   /* ROOT VERB ARGUMENT... */
	BM_LAUNCH_REMOVE, /* PATH */
	BM_LAUNCH_FORMAT, /* PATH */
	BM_LAUNCH_EXEC,   /* bench/exec.c */
	BM_LAUNCH_BROKER, /* bench/broker.h */
	BM_LAUNCH_MAX,
};

#define BM_LAUNCH_FDS 16

/* From here on it is the launcher that executes; *ret_fd hangs up when it ends. */
int bm_launcher_start(int *ret_fd, struct bm_error *err);
/* What it keeps of its capabilities, also for what it starts. */
extern const uint64_t bm_launcher_capabilities;

/* The pid of a child, or -errno. Without a launcher (--doctor, --unload, tests) it is forked. */
pid_t bm_launch(enum bm_launch what, const void *data, size_t size, const int *fds, size_t count);
/* As bm_run(): the program is what says. */
int bm_launch_run(enum bm_launch what, const char *const *args, int timeout_ms, int *ret_status,
		  char **ret_out, char **ret_err);

#endif
