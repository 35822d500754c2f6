/* SPDX-License-Identifier: GPL-2.0-only */
/* Executing in a running Bench, as one more arrival. */
#ifndef BENCHMON_EXEC_H
#define BENCHMON_EXEC_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "bench/cgroup.h"

struct bm_exec {
	pid_t pid; /* a process of the container, whose namespaces are joined */
	const struct bm_cgroup_ref *cgroup;
	char *const *argv; /* argv[0] is searched in the PATH of env */
	char *const *env;
	const char *cwd; /* NULL: / */
	int stdio[3];
	bool tty;    /* stdio[0] becomes the controlling terminal */
	bool filter; /* the syscall filter of Benches that benchmon makes */
};

/*
 * The process is a child of the caller's; *ret_pidfd is the caller's. What execve(2) itself said
 * (ENOENT, EACCES ...) comes back as -errno with the rule "exec".
 */
int bm_exec_start(const struct bm_exec *exec, pid_t *ret_pid, int *ret_pidfd, struct bm_error *err);

#endif
