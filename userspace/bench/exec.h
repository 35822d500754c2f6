/* SPDX-License-Identifier: GPL-2.0-only */
/* Executing in a running Bench, as one more arrival. */
#ifndef BENCHMON_EXEC_H
#define BENCHMON_EXEC_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "bench/cgroup.h"
#include "bench/target.h"

struct bm_exec {
	const struct bm_target *target; /* whose namespaces are joined */
	const struct bm_cgroup_ref *cgroup;
	char *const *argv; /* argv[0] is searched in the PATH of env */
	char *const *env;
	const char *cwd; /* NULL: / */
	int stdio[3];
	bool tty;    /* stdio[0] becomes the controlling terminal */
	bool filter; /* the syscall filter of Benches that benchmon makes */
	bool image;  /* with what exec: image denies beyond */
	bool userns; /* without what keeps user namespaces from it */
};

/*
 * Starts a child of the caller's. *ret_pidfd and *ret_report are the caller's: the report has an
 * end of file once the payload executes, or the errno (an int) why it can't (bm_exec_failed());
 * that may take as long as the Bench likes, so it is to be waited for without blocking.
 */
int bm_exec_start(const struct bm_exec *exec, pid_t *ret_pid, int *ret_pidfd, int *ret_report,
		  struct bm_error *err);
/* Added to an errno that came of the working directory and not of the execve. */
#define BM_EXEC_CWD 10000
/* The error, with the rule "exec" or "cwd", of a report that said code. */
int bm_exec_failed(const char *command, int code, struct bm_error *err);

#endif
