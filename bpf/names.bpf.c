// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making, moving and removing names. path_* and not inode_*: once a system call, with the mount,
 * and not again for what overlayfs does in its layers.
 */
#include "check.h"

static __always_inline bool is_device(umode_t mode)
{
	return (mode & S_IFMT) == S_IFCHR || (mode & S_IFMT) == S_IFBLK;
}

/* No exception leaves the name itself to the Bench, whatever it leaves of what has it. */
#define EVERYTHING (~0u)

/*
 * w on the directory, on the name in it, and on what has the name where that is an object itself: a
 * nested ro object is not renamed by who may write around it. shown may have no inode.
 */
static __always_inline int check_name(const struct path *dir, struct dentry *shown, __u32 hook,
				      __u32 never, __u32 never_rule)
{
	struct bm_bench *bench = bench_of_current();
	struct decision decision;
	struct bm_object *object;
	__u32 id, flags;

	if (!bench)
		return 0;
	id = bench->id;
	flags = bench->flags;
	decide_at(bench, dir->mnt, dir->dentry, BM_W, &decision);
	if (lets_through(decision.rule)) {
		object = object_of(dir->dentry->d_inode);
		if (!object || !excepted(id, object->id, shown, EVERYTHING, &decision))
			entry_decides(id, shown->d_inode, BM_W, &decision);
		decision.rule = learn_rule(bench, never_both(bench, decision.rule));
	}
	return verdict(id, flags, hook, dir->dentry, shown, BM_W, &decision, never, never_rule);
}

/* Also open(O_CREAT) and a unix socket's bind. */
SEC("lsm/path_mknod")
int BPF_PROG(bm_mknod, const struct path *dir, struct dentry *dentry, umode_t mode,
	     unsigned int dev, int ret)
{
	return ret
		       ?: check_name(dir, dentry, BM_HOOK_MKNOD,
				     is_device(mode) || mode & (S_ISUID | S_ISGID),
				     BM_RULE_PRIVILEGE);
}

SEC("lsm/path_mkdir")
int BPF_PROG(bm_mkdir, const struct path *dir, struct dentry *dentry, umode_t mode, int ret)
{
	return ret
		       ?: check_name(dir, dentry, BM_HOOK_MKDIR, mode & (S_ISUID | S_ISGID),
				     BM_RULE_PRIVILEGE);
}

SEC("lsm/path_rmdir")
int BPF_PROG(bm_rmdir, const struct path *dir, struct dentry *dentry, int ret)
{
	return ret ?: check_name(dir, dentry, BM_HOOK_RMDIR, 0, 0);
}

SEC("lsm/path_unlink")
int BPF_PROG(bm_unlink, const struct path *dir, struct dentry *dentry, int ret)
{
	return ret ?: check_name(dir, dentry, BM_HOOK_UNLINK, 0, 0);
}

SEC("lsm/path_symlink")
int BPF_PROG(bm_symlink, const struct path *dir, struct dentry *dentry, const char *target, int ret)
{
	return ret ?: check_name(dir, dentry, BM_HOOK_SYMLINK, 0, 0);
}

/*
 * A link or a rename within one mount could carry an object from a place with fewer rights to one
 * with more: both places have to allow writing, so neither gives what the other had not.
 */
SEC("lsm/path_link")
int BPF_PROG(bm_link, struct dentry *old, const struct path *dir, struct dentry *dentry, int ret)
{
	return ret ?: check_name(dir, dentry, BM_HOOK_LINK, 0, 0)
		   ?: check_dentry(old, BM_HOOK_LINK, BM_W, 0, 0);
}

SEC("lsm/path_rename")
int BPF_PROG(bm_rename, const struct path *old_dir, struct dentry *old, const struct path *new_dir,
	     struct dentry *dentry, unsigned int flags, int ret)
{
	/* A whiteout is a device node, and means "deleted" to an overlay of the host's. */
	__u32 never = flags & RENAME_WHITEOUT;

	return ret ?: check_name(old_dir, old, BM_HOOK_RENAME, never, BM_RULE_PRIVILEGE)
		   ?: check_name(new_dir, dentry, BM_HOOK_RENAME, 0, 0);
}

char LICENSE[] SEC("license") = "GPL";
