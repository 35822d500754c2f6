/* SPDX-License-Identifier: GPL-2.0-only */
/* What opening a file comes to: for the hook, and for who asks why. */
#ifndef BENCHMON_BPF_OPEN_H
#define BENCHMON_BPF_OPEN_H

#include "check.h"
#include "image.h"

/*
 * In a host grant: made so by O_TMPFILE, which no other hook sees, or by the host; then a shared
 * mapping would write it and leave the bits, which write(2) takes away.
 */
static __always_inline bool is_set_id(struct file *file)
{
	umode_t mode = file->f_path.dentry->d_inode->i_mode;

	return (mode & S_IFMT) == S_IFREG && mode & (S_ISUID | S_ISGID);
}

/* Who waits in a read when its grant expires could only be got out by somebody who lives then. */
static __always_inline bool is_fifo(struct file *file)
{
	return (file->f_path.dentry->d_inode->i_mode & S_IFMT) == S_IFIFO;
}

/* mq_open works on its namespace's own mount: of a shared one, others' queues. */
static __always_inline bool is_shared_queue(struct file *file, __u32 flags)
{
	return flags & BM_BENCH_SHARED_IPC &&
	       file->f_path.dentry->d_inode->i_sb->s_magic == MQUEUE_MAGIC;
}

/* flags: the Bench's, read before. */
static __always_inline void decide_open(const struct bm_bench *bench, __u32 flags,
					struct file *file, __u32 wanted, struct decision *ret)
{
	decide(bench, file, wanted, ret);
	if (flags & BM_BENCH_IMAGE && wanted & BM_X)
		decide_image(file, ret);
	if (flags & BM_BENCH_IMAGE && wanted & BM_W && is_process_memory(file))
		ret->rule = BM_RULE_EXEC_IMAGE;
	if (is_shared_queue(file, flags))
		ret->rule = BM_RULE_SHARED;
	if (lets_through(ret->rule) && ret->grant && wanted & BM_W && is_set_id(file))
		ret->rule = BM_RULE_PRIVILEGE;
	if (lets_through(ret->rule) && ret->expiry_ns && is_fifo(file))
		ret->rule = BM_RULE_NOT_TRACKED;
}

#endif
