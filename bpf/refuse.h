/* SPDX-License-Identifier: GPL-2.0-only */
/* What comes of a file that is not simply allowed. */
#ifndef BENCHMON_BPF_REFUSE_H
#define BENCHMON_BPF_REFUSE_H

#include "record.h"

static __noinline int was_told(__u32 bench, struct dentry *located, __u32 wanted)
{
	struct bm_learned_key key =
		learned_inode(bench, located->d_inode, BM_LEARNED_OBJECT, wanted);

	if (is_learned(&key, 1))
		return true;
	key = learned_inode(bench, directory_of(located), BM_LEARNED_DIRECTORY, wanted);
	return is_learned(&key, BM_LEARN_MANY);
}

/*
 * Refused and told, or let through because the Bench learns, and told once. Returns what the hook
 * does.
 */
static __always_inline int refuse_dentry(__u32 bench, __u32 hook, struct dentry *located,
					 struct dentry *shown, __u32 wanted,
					 const struct decision *decision)
{
	if (decision->rule == BM_RULE_LEARN && was_told(bench, located, wanted))
		return 0;
	record_dentry(bench, hook, located, shown, wanted, decision);
	return decision->rule == BM_RULE_LEARN ? 0 : -EACCES;
}

static __always_inline int refuse_file(__u32 bench, __u32 hook, struct file *file, __u32 wanted,
				       const struct decision *decision)
{
	struct dentry *dentry = file->f_path.dentry;

	return refuse_dentry(bench, hook, dentry, dentry, wanted, decision);
}

#endif
