/* SPDX-License-Identifier: GPL-2.0-only */
/* May this Bench have these rights on this file? No verdict here depends on anything but maps. */
#ifndef BENCHMON_BPF_DECIDE_H
#define BENCHMON_BPF_DECIDE_H

#include "both.h"
#include "kernfs.h"
#include "learn.h"
#include "walk.h"

static __always_inline bool entry_decides(__u32 bench, struct inode *inode, __u32 wanted,
					  struct decision *ret)
{
	struct bm_object *object = object_of(inode);

	return object && object_decides(bench, object->id, wanted, ret);
}

/*
 * Nothing on the way up decides, and the mount's root is one of the Bench's own objects: overlayfs
 * at work beside its layer. Of a grant the root would not do: what the host has moved out of it
 * may have been nested in it, or excepted.
 */
static __always_inline void own_root_decides(__u32 bench, struct vfsmount *mnt, __u32 wanted,
					     struct decision *ret)
{
	struct decision root = { .rule = BM_RULE_NO_GRANT };

	if (entry_decides(bench, mnt->mnt_root->d_inode, wanted, &root) && !root.grant)
		*ret = root;
}

/*
 * The root of the file's mount first: a relocated grant is a mount of its own, so one look-up
 * decides at any depth. Else the parents, nearest first: a mount of a part of an own object.
 * The walk goes on above the mount's root (d_parent does) and ends at the file system's root. A
 * disconnected dentry (open_by_handle_at) is its own parent and so finds nothing. In a Bench with
 * objects within objects, or excepted names, only the walk finds the nearest.
 */
static __always_inline void mark_decides(const struct bm_bench *bench, struct vfsmount *mnt,
					 struct dentry *dentry, __u32 wanted, struct decision *ret)
{
	__u32 id = bench->id, nested = bench->flags & BM_BENCH_NESTED;

	if (!nested && entry_decides(id, mnt->mnt_root->d_inode, wanted, ret))
		return;
	decide_walk(id, dentry, wanted, ret);
	if (nested && ret->rule == BM_RULE_NO_GRANT)
		own_root_decides(id, mnt, wanted, ret);
}

static __always_inline void decide_at(const struct bm_bench *bench, struct vfsmount *mnt,
				      struct dentry *dentry, __u32 wanted, struct decision *ret)
{
	*ret = (struct decision){ .rule = BM_RULE_NONE };
	/*
	 * pipefs, sockfs, memfd, nsfs, pidfs: what the kernel mounts for itself and no path leads
	 * to. Files of the host don't lie there.
	 */
	if (mnt->mnt_flags & MNT_INTERNAL)
		return;
	mark_decides(bench, mnt, dentry, wanted, ret);
	ret->rule = never_both(bench, ret->rule);
	if (ret->rule == BM_RULE_NONE)
		ret->rule = rule_in_kernfs(bench, dentry, wanted);
	else
		ret->rule = learn_rule(bench, ret->rule);
}

static __always_inline void decide(const struct bm_bench *bench, struct file *file, __u32 wanted,
				   struct decision *ret)
{
	decide_at(bench, file->f_path.mnt, file->f_path.dentry, wanted, ret);
}

/* For hooks that are told no mount. A granted object lies on the way up all the same. */
static __always_inline void decide_dentry(const struct bm_bench *bench, struct dentry *dentry,
					  __u32 wanted, struct decision *ret)
{
	*ret = (struct decision){ .rule = BM_RULE_NONE };
	if (dentry->d_inode->i_sb->s_flags & SB_KERNMOUNT)
		return;
	decide_walk(bench->id, dentry, wanted, ret);
	ret->rule = never_both(bench, ret->rule);
	if (ret->rule == BM_RULE_NONE)
		ret->rule = rule_in_kernfs(bench, dentry, wanted);
	else
		ret->rule = learn_rule(bench, ret->rule);
}

#endif
