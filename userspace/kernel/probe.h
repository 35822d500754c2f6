/* SPDX-License-Identifier: GPL-2.0-only */
/* Can this kernel enforce? Found out step by step, the last of which is a denial. */
#ifndef BENCHMON_PROBE_H
#define BENCHMON_PROBE_H

#include <stdint.h>

#include "base/error.h"

enum bm_probe {
	BM_PROBE_CGROUP,   /* cgroup v2 */
	BM_PROBE_LSM_LIST, /* bpf among the active LSMs */
	BM_PROBE_BTF,      /* with the hooks in it */
	BM_PROBE_CAPABILITIES,
	BM_PROBE_LOAD,
	BM_PROBE_ATTACH,
	BM_PROBE_DENY,
	BM_PROBE_PROGRAMS, /* benchmon's own programs pass the verifier */
	BM_PROBE_MAX,
};

struct bm_probe_step {
	int result; /* 0, -errno, or 1: not tried, an earlier one failed */
	struct bm_error err;
};

const char *bm_probe_name(enum bm_probe probe);

/*
 * Runs the steps in order up to the first that fails (a list of LSMs without bpf stops none: that
 * nothing is enforced then is shown too). 0 when none did, else the first failure. Leaves nothing.
 */
int bm_probe_run(struct bm_probe_step ret_steps[BM_PROBE_MAX]);

/* The same up to the denial: before anything of ours is loaded on a kernel that may not enforce. */
int bm_probe_enforces(struct bm_error *err);

/* For tests: the sentence for a given list of active LSMs. */
int bm_probe_lsm_list(const char *list, struct bm_error *err);
/* For tests: the sentence for given effective capabilities. */
int bm_probe_capabilities(uint64_t effective, struct bm_error *err);
/* For tests: a load that failed with code while the log said this. */
int bm_probe_load_failed(int code, const char *log, struct bm_error *err);

#endif
