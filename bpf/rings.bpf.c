// SPDX-License-Identifier: GPL-2.0-only
/*
 * No io_uring in a Bench. What is registered with a ring is no descriptor of any process, a ring
 * itself can be: neither would be found when a grant is taken back, and a revocation must be able
 * to tell when nothing is held any more. Nor userfaultfd, which stops the kernel where it copies
 * from and to a process.
 */
#include "subject.h"

#define RING_NAME "[io_uring]"
#define FAULTS_NAME "[userfaultfd]"
#define NAME_SIZE 16

static __always_inline bool is_named(const char text[NAME_SIZE], const char *name, __u32 size)
{
	for (__u32 i = 0; i < size; i++)
		if (text[i] != name[i])
			return false;
	return true;
}

SEC("lsm/inode_init_security_anon")
int BPF_PROG(bm_ring, struct inode *inode, const struct qstr *name, const struct inode *context)
{
	struct bm_bench *bench = walled_bench();
	char text[NAME_SIZE] = {};

	if (!bench)
		return 0;
	bpf_probe_read_kernel_str(text, sizeof(text), name->name);
	if (is_named(text, RING_NAME, sizeof(RING_NAME))) {
		record_bare(bench->id, BM_HOOK_IO_URING, 0, BM_RULE_IO_URING, EPERM);
		return -EPERM;
	}
	if (is_named(text, FAULTS_NAME, sizeof(FAULTS_NAME)))
		return refuse(bench->id, BM_HOOK_USERFAULTFD, BM_RULE_KERNEL, EPERM, 0, 0, NULL);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
