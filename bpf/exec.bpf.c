// SPDX-License-Identifier: GPL-2.0-only
/*
 * Execution: directly, as an interpreter, and by mapping (ld.so, dlopen, mprotect). MNT_NOEXEC of
 * a relocated grant says the same; mount_setattr has no hook, so that it alone would not do.
 */
#include "record.h"
#include "who.h"

static __always_inline int check(struct file *file, __u32 hook, bool arrivals_too)
{
	struct bm_bench *bench = bench_of_current();
	struct decision decision;
	__u32 id;

	if (!bench)
		return 0;
	id = bench->id;
	decide(bench, file, BM_X, &decision);
	if (decision.rule == BM_RULE_NONE)
		return 0;
	if (!arrivals_too && is_arrival(id))
		return 0;
	record_file(id, hook, file, BM_X, &decision);
	return -EACCES;
}

SEC("lsm/bprm_check_security")
int BPF_PROG(bm_exec, struct linux_binprm *bprm, int ret)
{
	if (ret)
		return ret;
	return check(bprm->file, BM_HOOK_EXEC, true);
}

/* prot, not reqprot: READ_IMPLIES_EXEC is folded into it. */
SEC("lsm/mmap_file")
int BPF_PROG(bm_mmap, struct file *file, unsigned long reqprot, unsigned long prot,
	     unsigned long flags, int ret)
{
	struct file *mapped = file; /* tested and used as one value: clang would load it twice */

	if (ret)
		return ret;
	if (!mapped || !(prot & PROT_EXEC))
		return 0;
	return check(mapped, BM_HOOK_MMAP, false);
}

SEC("lsm/file_mprotect")
int BPF_PROG(bm_mprotect, struct vm_area_struct *vma, unsigned long reqprot, unsigned long prot,
	     int ret)
{
	struct file *mapped;

	if (ret)
		return ret;
	if (!(prot & PROT_EXEC))
		return 0;
	mapped = vma->vm_file;
	if (!mapped)
		return 0;
	return check(mapped, BM_HOOK_MPROTECT, false);
}

char LICENSE[] SEC("license") = "GPL";
