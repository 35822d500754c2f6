/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Bench that learns: what of a refusal is let through, and what of that has been told. Asked only
 * where something is refused. Nothing here widens what never depends on a grant: capabilities,
 * mounts, devices, other tasks, the kernel, execution.
 */
#ifndef BENCHMON_BPF_LEARN_H
#define BENCHMON_BPF_LEARN_H

#include "excepts.h"
#include "learned.h"

/* Both have to say so: the volume's entry, and the Bench's from when it was attached. */
static __always_inline __u32 learn_rule(const struct bm_bench *bench, __u32 rule)
{
	return rule == BM_RULE_LEARN && !(bench->flags & BM_BENCH_LEARN) ? BM_RULE_NO_GRANT : rule;
}

static __always_inline bool lets_through(__u32 rule)
{
	return rule == BM_RULE_NONE || rule == BM_RULE_LEARN;
}

static __always_inline struct bm_learned_key learned_inode(__u32 bench, struct inode *inode,
							   __u16 kind, __u32 wanted)
{
	struct bm_learned_key key = { .bench = bench, .kind = kind, .what = (__u16)wanted };

	key.where[0] = BPF_CORE_READ(inode, i_ino);
	key.where[1] = BPF_CORE_READ(inode, i_sb, s_dev);
	return key;
}

/* What it is in. Where a name is made, moved or removed, located is the directory itself. */
static __always_inline struct inode *directory_of(struct dentry *located)
{
	return BPF_CORE_READ(located, d_parent, d_inode);
}

static __noinline int note_told(__u32 bench, struct dentry *located, __u32 wanted)
{
	struct bm_learned_key key =
		learned_inode(bench, located->d_inode, BM_LEARNED_OBJECT, wanted);

	learn(&key);
	key = learned_inode(bench, directory_of(located), BM_LEARNED_DIRECTORY, wanted);
	learn(&key);
	return 0;
}

#endif
