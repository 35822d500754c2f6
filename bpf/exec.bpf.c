// SPDX-License-Identifier: GPL-2.0-only
/*
 * Execution: directly, as an interpreter, and by mapping (ld.so, dlopen, mprotect). MNT_NOEXEC of
 * a relocated grant says the same; mount_setattr has no hook, so that it alone would not do.
 */
#include "argument.h"
#include "image.h"

/* changed: what is mapped may differ from what the file holds, or will be able to. */
static __always_inline int check(struct file *file, __u32 hook, bool arrivals_too, bool changed)
{
	struct bm_bench *bench = bench_of_current();
	struct decision decision;
	__u32 id, flags;

	if (!bench)
		return 0;
	id = bench->id;
	flags = bench->flags;
	decide_exec(bench, flags, file, changed, &decision);
	if (decision.rule == BM_RULE_NONE)
		return 0;
	if (!arrivals_too && is_arrival(id))
		return 0;
	record_file(id, hook, file, BM_X, &decision);
	return -EACCES;
}

static __always_inline int check_memory(__u32 hook)
{
	struct bm_bench *bench = bench_of_current();
	__u32 id;

	if (!bench || !(bench->flags & BM_BENCH_IMAGE))
		return 0;
	id = bench->id;
	if (is_arrival(id))
		return 0;
	record_bare(id, hook, BM_X, BM_RULE_EXEC_IMAGE, EACCES);
	return -EACCES;
}

SEC("lsm/bprm_check_security")
int BPF_PROG(bm_exec, struct linux_binprm *bprm, int ret)
{
	if (ret)
		return ret;
	return check(bprm->file, BM_HOOK_EXEC, true, false);
}

/* prot, not reqprot: READ_IMPLIES_EXEC is folded into it. */
SEC("lsm/mmap_file")
int BPF_PROG(bm_mmap, struct file *file, unsigned long reqprot, unsigned long prot,
	     unsigned long flags, int ret)
{
	enum argument there;

	if (ret)
		return ret;
	if (!(prot & PROT_EXEC))
		return 0;
	there = first_argument(ctx);
	if (there == ARGUMENT_UNKNOWN)
		return bench_of_current() ? -EACCES : 0;
	if (there == ARGUMENT_NULL)
		return check_memory(BM_HOOK_MMAP);
	return check(file, BM_HOOK_MMAP, false, prot & PROT_WRITE);
}

/*
 * A private mapping that was written has pages of its own, and from then on an anon_vma. The
 * mmap_lock is held here as for making one, so none comes to be between this and the change.
 */
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
		return check_memory(BM_HOOK_MPROTECT);
	return check(mapped, BM_HOOK_MPROTECT, false,
		     prot & PROT_WRITE || BPF_CORE_READ(vma, anon_vma));
}

char LICENSE[] SEC("license") = "GPL";
