/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls a Bench made by benchmon never gets: one table for the container's own filter
 * (config.json) and for what `benchmon exec` puts into it. A further layer; the walls do not rest
 * on it.
 */
#ifndef BENCHMON_SYSCALLS_H
#define BENCHMON_SYSCALLS_H

#include "base/error.h"

/* NULL-terminated; all x86 entries (64-bit, x32, 32-bit) of each name are denied with EPERM. */
extern const char *const bm_denied_syscalls[];

/* Puts the filter on the calling task; needs no_new_privs. */
int bm_syscalls_deny(struct bm_error *err);

#endif
