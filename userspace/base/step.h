/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Named points in every operation of several steps, at which a daemon of `make STEPS=1` can be told
 * to die (tests/e2e/cases/steps.sh does so at each). In what is installed they are nothing.
 *
 * BENCHMON_STEPS=PATH names a file that is read at each step. "kill NAME [N]" in it: the process
 * ends itself by SIGKILL at that step (the Nth time), and the file is empty from then on. "trace
 * FILE": the name of each step is appended to FILE. `gatekeeperd` with BENCHMON_STEPS=list prints
 * all, and ends.
 */
#ifndef BENCHMON_STEP_H
#define BENCHMON_STEP_H

#ifdef BM_STEPS
#include "base/steps.h"

enum bm_step {
#define X(name) BM_STEP_##name,
	BM_STEPS_ALL(X)
#undef X
		BM_STEP_MAX,
};

void bm_step(enum bm_step step);
#define STEP(name) bm_step(BM_STEP_##name)
#else
#define STEP(name)                                                                                 \
	do {                                                                                       \
	} while (0)
#endif

#endif
