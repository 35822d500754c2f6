/* SPDX-License-Identifier: GPL-2.0-only */
/* Which files a ledger has: its newest, and those before it that are there. */
#ifndef BENCHMON_FILES_H
#define BENCHMON_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct bm_ledger_entry {
	uint32_t number; /* UINT32_MAX: the newest, which says its number itself */
	bool compressed; /* there under a name that has something behind: ledger-1.jsonl.gz */
	char name[64];
};

/* In their order, the newest last, each number once; *ret is the caller's. */
int bm_ledger_files(int dirfd, struct bm_ledger_entry **ret, size_t *ret_count,
		    struct bm_error *err);

#endif
