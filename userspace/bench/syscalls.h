/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls a Bench made by benchmon never gets: one table for the container's own filter
 * (config.json) and for what `benchmon exec` puts into it. A further layer; the walls do not rest
 * on it.
 */
#ifndef BENCHMON_SYSCALLS_H
#define BENCHMON_SYSCALLS_H

#include <stdbool.h>

#include "base/error.h"

/* NULL-terminated; all x86 entries (64-bit, x32, 32-bit) of each name are denied with EPERM. */
extern const char *const bm_denied_syscalls[];

/* Unless it may make user namespaces, these too, clone(2) with CLONE_NEWUSER, and clone3(2). */
extern const char *const bm_denied_without_userns[];

/* With exec: image, these too, and */
extern const char *const bm_denied_in_image[];
/*
 * personality(2) with READ_IMPLIES_EXEC in it, but not the one that asks: all ones. Denied where
 * that bit is set and one other of so many is not; one rule for each, as a filter knows no "or".
 */
#define BM_PERSONALITY_BITS 32

/* Puts the filter on the calling task; needs no_new_privs. */
int bm_syscalls_deny(bool image, bool userns, struct bm_error *err);

#endif
