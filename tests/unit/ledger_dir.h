/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of a ledger that has never begun a second one. */
#ifndef BENCHMON_LEDGER_DIR_H
#define BENCHMON_LEDGER_DIR_H

#include <unistd.h>

#include "audit/head.h"
#include "audit/ledger.h"

static inline void ledger_removed(int dirfd)
{
	unlinkat(dirfd, BM_LEDGER_NAME, 0);
	unlinkat(dirfd, BM_HEAD_NAME, 0);
	unlinkat(dirfd, BM_LEDGER_KEY, 0);
}

#endif
