/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of receipts. */
#ifndef BENCHMON_RECEIPTS_INTERNAL_H
#define BENCHMON_RECEIPTS_INTERNAL_H

#include "audit/receipt.h"

/* Of the directory itself; the newest first, and the caller frees *ret. */
int receipts_list_dir(int fd, struct bm_receipt_entry **ret, size_t *ret_count);
/* Drops what is too much, and never the one called but. */
void receipts_prune(int state_dir, int dir, const char *but, size_t each);

#endif
