/* SPDX-License-Identifier: GPL-2.0-only */
/* The ledger without a daemon: looked at by anybody who has it, gone on with by root. */
#ifndef BENCHMON_LEDGER_MAIN_H
#define BENCHMON_LEDGER_MAIN_H

#include <stdbool.h>

struct ledger_asked {
	const char *dir;  /* NULL: this machine's */
	const char *head; /* "N:HASH", or NULL */
	const char *key;  /* in hex, or NULL */
	bool json;
};

/* The exit code: 0 it is whole, 1 it is not, 2 what was asked makes no sense, 125 else. */
int ledger_verify_main(const struct ledger_asked *asked);
/* Without force it only says what it would do. */
int ledger_accept_main(bool force);

#endif
