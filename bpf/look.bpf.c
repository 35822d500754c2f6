// SPDX-License-Identifier: GPL-2.0-only
/* Looking: stat, readlink, watches. They must not tell what there is on the host. */
#include "check.h"

SEC("lsm/inode_getattr")
int BPF_PROG(bm_getattr, const struct path *path, int ret)
{
	struct dentry *dentry = path->dentry;
	struct decision decision;
	struct bm_bench *bench;
	__u32 id;

	if (ret)
		return ret;
	bench = bench_of_current();
	if (!bench || acts_as_mounter())
		return 0;
	id = bench->id;
	decide_at(bench, path->mnt, dentry, BM_R, &decision);
	if (decision.rule == BM_RULE_NONE || is_pts(dentry) || was_carried(id, dentry))
		return 0;
	return verdict(id, 0, BM_HOOK_GETATTR, dentry, dentry, BM_R, &decision, 0, 0);
}

SEC("lsm/inode_readlink")
int BPF_PROG(bm_readlink, struct dentry *dentry, int ret)
{
	return ret ?: check_dentry(dentry, BM_HOOK_READLINK, BM_R, 0, 0);
}

/*
 * A watch tells of everybody's accesses: on what the Bench may not write, of the host's alone. One
 * that outlived the grant could only be ended by somebody who lives then.
 */
SEC("lsm/path_notify")
int BPF_PROG(bm_notify, const struct path *path, __u64 mask, unsigned int type, int ret)
{
	struct dentry *dentry = path->dentry;
	struct decision decision;
	struct bm_bench *bench;
	__u32 id, flags;

	if (ret)
		return ret;
	bench = bench_of_current();
	if (!bench)
		return 0;
	id = bench->id;
	flags = bench->flags;
	decide_at(bench, path->mnt, dentry, BM_R | BM_W, &decision);
	return verdict(id, flags, BM_HOOK_NOTIFY, dentry, dentry, BM_R | BM_W, &decision,
		       decision.expiry_ns != 0, BM_RULE_NOT_TRACKED);
}

char LICENSE[] SEC("license") = "GPL";
