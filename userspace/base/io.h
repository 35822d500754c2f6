/* SPDX-License-Identifier: GPL-2.0-only */
/* Files read and written whole, and time as text. */
#ifndef BENCHMON_IO_H
#define BENCHMON_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads a whole file of at most max bytes (-EFBIG above) below dirfd. *ret is NUL-terminated
 * and the caller's; ret_len may be NULL.
 */
int bm_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_len);
/* The same of an fd, from where it stands. */
int bm_read_fd(int fd, size_t max, char **ret, size_t *ret_len);
/* Writes all of it with one open(O_WRONLY | flags, mode); for /proc, /sys and cgroup files. */
int bm_write_file(int dirfd, const char *path, int flags, mode_t mode, const char *text);
int bm_write_all(int fd, const void *data, size_t len);

/* Runs argv (argv[0] searched in PATH), its stdin /dev/null, all fds but 0 to 2 closed. Its
 * stdout (ret_out) and stderr (ret_err) are collected, 64 KiB each at most; either may be NULL.
 * Killed after timeout_ms: -ETIMEDOUT. *ret_status is as of waitpid. */
int bm_run(const char *const *argv, int timeout_ms, int *ret_status, char **ret_out,
	   char **ret_err);
/* The same of a child that start() makes: its pid, or -errno. */
int bm_run_by(pid_t (*start)(void *arg, int out, int err), void *arg, int timeout_ms,
	      int *ret_status, char **ret_out, char **ret_err);
/* What the child does. */
_Noreturn void bm_run_child(const char *const *argv, int out, int err);

#define BM_TIME_LEN 36
/* CLOCK_REALTIME ns as RFC 3339 UTC with nanoseconds; returns buf. */
const char *bm_time_format(uint64_t realtime_ns, char buf[BM_TIME_LEN]);
/* And back, of exactly that form; -EBADMSG. */
int bm_time_parse(const char *text, uint64_t *ret_ns);
uint64_t bm_now_ns(int clock);

#endif
