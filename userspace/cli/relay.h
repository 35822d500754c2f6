/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Carries a payload's streams between its pipes or terminal and ours, until gatekeeperd says
 * that it has ended. The payload never holds a descriptor of the operator's.
 */
#ifndef BENCHMON_CLI_RELAY_H
#define BENCHMON_CLI_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define CLI_PUMP_SIZE 65536

/* One direction. from or to are -1 when that side is at its end. */
struct cli_pump {
	int from, to;
	size_t chunk; /* the most that a write which poll() promised never blocks on */
	size_t start, len;
	bool terminal;  /* to is a pty: its end is a character, not a close */
	bool line_open; /* what went there did not end its line */
	int error;      /* why writing failed, unless the reader had gone */
	char buf[CLI_PUMP_SIZE];
};

/* Takes from and to over unless they are 0 to 2. */
void cli_pump_open(struct cli_pump *pump, int from, int to);
void cli_pump_close(struct cli_pump *pump);
/* One read, one write, as far as they are ready. */
void cli_pump_read(struct cli_pump *pump);
void cli_pump_write(struct cli_pump *pump);

struct cli_relay {
	int socket;
	int master; /* of the pty; -1: pipes */
	struct cli_pump in, out, err;
};

/* Returns the exit code, 128 + the signal that ended it or us; closes nothing. */
int cli_relay_run(struct cli_relay *relay, struct bm_error *err);
void cli_relay_done(struct cli_relay *relay);

#endif
