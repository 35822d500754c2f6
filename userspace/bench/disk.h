/* SPDX-License-Identifier: GPL-2.0-only */
/* A disk of a given size for what a Bench writes: an ext4 in a file, mounted by a loop device. */
#ifndef BENCHMON_DISK_H
#define BENCHMON_DISK_H

#include <stdint.h>

#include "base/error.h"

/*
 * Makes file (sparse: the size is a limit and no reservation) and mounts it at dir. The device
 * goes with the last mount. On failure neither device nor mount is left; the file may be.
 */
int bm_disk_make(const char *file, uint64_t size, const char *dir, struct bm_error *err);

#endif
