/* SPDX-License-Identifier: GPL-2.0-only */
/* net.ipv4.conf.* and net.ipv6.conf.* of the namespace that the caller is in. */
#ifndef BENCHMON_SYSCTL_H
#define BENCHMON_SYSCTL_H

#include <stddef.h>

#include "base/error.h"

struct bm_sysctl {
	int family; /* AF_INET or AF_INET6 */
	const char *key;
	int value;
};

/* 0 or -errno, silently. interface may be "all". */
int bm_sysctl_read(int family, const char *interface, const char *key, int *ret);

/* Leaves alone what has the value already, and what this kernel does not have (IPv6 off). */
int bm_sysctl_write(int family, const char *interface, const char *key, int value,
		    struct bm_error *err);
int bm_sysctl_write_all(const char *interface, const struct bm_sysctl *list, size_t count,
			struct bm_error *err);

#endif
