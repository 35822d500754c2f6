/* SPDX-License-Identifier: GPL-2.0-only */
/* One table each for what has a number in the kernel and a name everywhere else. */
#ifndef BENCHMON_NAMES_H
#define BENCHMON_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

/* "?" for a number that has no name. */
const char *bm_hook_name(uint32_t hook);
const char *bm_rule_name(uint32_t rule);
const char *bm_verdict_name(uint32_t verdict);
/* "CAP_CHOWN". */
const char *bm_capability_name(uint32_t capability);

#define BM_RIGHTS_LEN 4
/* "rw", "x", "" ...; returns buf. */
const char *bm_rights_name(uint32_t rights, char buf[BM_RIGHTS_LEN]);

/* A Bench name: 1 to 32 of a-z, 0-9 and '-', beginning with a letter. */
#define BM_BENCH_NAME_LEN 33
bool bm_bench_name_valid(const char *name);

/* A grant id, "b1/3": the Bench's name and the number of the grant in it, never used twice. */
#define BM_GRANT_ID_LEN (BM_BENCH_NAME_LEN + 11)
int bm_grant_id_parse(const char *id, char ret_bench[BM_BENCH_NAME_LEN], uint32_t *ret_number);

#endif
