// SPDX-License-Identifier: GPL-2.0-only
/*
 * No io_uring in a Bench. What is registered with a ring is no descriptor of any process, a ring
 * itself can be: neither would be found when a grant is taken back, and a revocation must be able
 * to tell when nothing is held any more.
 */
#include "record.h"
#include "who.h"

#define RING_NAME "[io_uring]"

static __always_inline bool is_ring(const struct qstr *name)
{
	char text[sizeof(RING_NAME)] = {};

	bpf_probe_read_kernel_str(text, sizeof(text), name->name);
	for (__u32 i = 0; i < sizeof(text); i++)
		if (text[i] != RING_NAME[i])
			return false;
	return true;
}

SEC("lsm/inode_init_security_anon")
int BPF_PROG(bm_ring, struct inode *inode, const struct qstr *name, const struct inode *context,
	     int ret)
{
	struct bm_bench *bench;

	if (ret)
		return ret;
	bench = bench_of_current();
	if (!bench || !is_ring(name))
		return 0;
	record_bare(bench->id, BM_HOOK_IO_URING, 0, BM_RULE_IO_URING, EPERM);
	return -EPERM;
}

char LICENSE[] SEC("license") = "GPL";
