/* SPDX-License-Identifier: GPL-2.0-only */
/* What the daemon gives up once it has started. */
#ifndef BENCHMON_SHRINK_H
#define BENCHMON_SHRINK_H

#include <stdint.h>

#include "base/error.h"

/* With what each is needed for: gatekeeperd(8). */
extern const uint64_t daemon_capabilities;

/* The capabilities, no_new_privs, and the system call filter. */
int daemon_shrink(struct bm_error *err);
/* The filter alone. */
int daemon_filter(struct bm_error *err);

#endif
