/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exec: image. What executes is the image, as it is in its file: no memory that was ever writable,
 * no file that the Bench could have written.
 */
#ifndef BENCHMON_BPF_IMAGE_H
#define BENCHMON_BPF_IMAGE_H

#include "record.h"
#include "who.h"

#define PROT_WRITE 0x2
#define PROT_EXEC 0x4
#define VM_EXEC 0x4

struct anon_vma;

struct vm_area_struct {
	unsigned long vm_flags;
	struct anon_vma *anon_vma;
	struct file *vm_file;
} KERNEL;

/*
 * What decide() says of executing a file, for a Bench of this mode. memfd, SysV and anonymous
 * shared memory are files too, of the kernel's own mounts. An own object without x is not of the
 * image; a grant keeps the rule that it has in any Bench.
 */
static __always_inline void decide_image(struct file *file, struct decision *decision)
{
	if (file->f_path.mnt->mnt_flags & MNT_INTERNAL ||
	    (decision->rule == BM_RULE_NOEXEC && !decision->grant))
		decision->rule = BM_RULE_EXEC_IMAGE;
}

/* flags: the Bench's, read before. changed: what is mapped may differ from the file, or will. */
static __always_inline void decide_exec(const struct bm_bench *bench, __u32 flags,
					struct file *file, bool changed, struct decision *ret)
{
	decide(bench, file, BM_X, ret);
	if (flags & BM_BENCH_IMAGE) {
		decide_image(file, ret);
		if (ret->rule == BM_RULE_NONE && changed)
			ret->rule = BM_RULE_EXEC_IMAGE;
	}
}

/*
 * /proc/PID/mem, also of a thread: writing there heeds no protection, so it would change what is
 * mapped from the image. Nothing else in procfs has that name.
 */
static __always_inline bool is_process_memory(struct file *file)
{
	struct dentry *dentry = file->f_path.dentry;
	char name[5] = "";

	if (dentry->d_inode->i_sb->s_magic != PROC_SUPER_MAGIC)
		return false;
	bpf_probe_read_kernel_str(name, sizeof(name), dentry->d_name.name);
	return name[0] == 'm' && name[1] == 'e' && name[2] == 'm' && !name[3];
}

#endif
