/* SPDX-License-Identifier: GPL-2.0-only */
/* The launcher's side of a broker: it becomes benchmon-broker, which lies beside gatekeeperd. */
#ifndef BENCHMON_BENCH_BROKER_H
#define BENCHMON_BENCH_BROKER_H

#include <stddef.h>

/* Of BM_LAUNCH_BROKER: its control socket, and where it listens, if it does. */
enum { BM_BROKER_CONTROL, BM_BROKER_ENDPOINT, BM_BROKER_FDS };

/* With nothing but those: no argument, no environment, no other descriptor. */
_Noreturn void bm_broker_launched(const int *fds, size_t count);

#endif
