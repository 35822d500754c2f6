/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_GATEKEEPERD_ARGUMENTS_H
#define BENCHMON_GATEKEEPERD_ARGUMENTS_H

#include <stdbool.h>

#include "gatekeeperd/ledger_main.h"

struct arguments {
	const char *socket, *config, *level;
	bool check, doctor, unload, force, verify, accept;
	struct ledger_asked ledger; /* json: for all that print */
	int ready;                  /* descriptor to be told of the start; -1: none */
};

/* Below 0: go on; else the status to exit with, when it has printed what was to be printed. */
int arguments_parse(int argc, char **argv, struct arguments *a);

#endif
