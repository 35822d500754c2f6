/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCHMON_DOCTOR_H
#define BENCHMON_DOCTOR_H

#include <stdbool.h>

/* `benchmon doctor`: prints what this host can do; 0 when it can run Benches, 1 otherwise. */
int doctor_main(bool json);

#endif
