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

/* Also open(O_CREAT) and a unix socket's bind. */
SEC("lsm/path_mknod")
int BPF_PROG(bm_mknod, const struct path *dir, struct dentry *dentry, umode_t mode,
	     unsigned int dev, int ret)
{
	return ret
		       ?: check_path(dir, dentry, BM_HOOK_MKNOD, BM_W,
				     is_device(mode) || mode & (S_ISUID | S_ISGID),
				     BM_RULE_PRIVILEGE);
}

SEC("lsm/path_mkdir")
int BPF_PROG(bm_mkdir, const struct path *dir, struct dentry *dentry, umode_t mode, int ret)
{
	return ret
		       ?: check_path(dir, dentry, BM_HOOK_MKDIR, BM_W, mode & (S_ISUID | S_ISGID),
				     BM_RULE_PRIVILEGE);
}

SEC("lsm/path_rmdir")
int BPF_PROG(bm_rmdir, const struct path *dir, struct dentry *dentry, int ret)
{
	return ret ?: check_path(dir, dentry, BM_HOOK_RMDIR, BM_W, 0, 0);
}

SEC("lsm/path_unlink")
int BPF_PROG(bm_unlink, const struct path *dir, struct dentry *dentry, int ret)
{
	return ret ?: check_path(dir, dentry, BM_HOOK_UNLINK, BM_W, 0, 0);
}

SEC("lsm/path_symlink")
int BPF_PROG(bm_symlink, const struct path *dir, struct dentry *dentry, const char *target, int ret)
{
	return ret ?: check_path(dir, dentry, BM_HOOK_SYMLINK, BM_W, 0, 0);
}

/*
 * A link or a rename within one mount could carry an object from a place with fewer rights to one
 * with more: both places have to allow writing, so neither gives what the other had not.
 */
SEC("lsm/path_link")
int BPF_PROG(bm_link, struct dentry *old, const struct path *dir, struct dentry *dentry, int ret)
{
	return ret ?: check_path(dir, dentry, BM_HOOK_LINK, BM_W, 0, 0)
		   ?: check_dentry(old, BM_HOOK_LINK, BM_W, 0, 0);
}

SEC("lsm/path_rename")
int BPF_PROG(bm_rename, const struct path *old_dir, struct dentry *old, const struct path *new_dir,
	     struct dentry *dentry, unsigned int flags, int ret)
{
	/* A whiteout is a device node, and means "deleted" to an overlay of the host's. */
	__u32 never = flags & RENAME_WHITEOUT;

	return ret ?: check_path(old_dir, old, BM_HOOK_RENAME, BM_W, never, BM_RULE_PRIVILEGE)
		   ?: check_path(new_dir, dentry, BM_HOOK_RENAME, BM_W, 0, 0);
}

char LICENSE[] SEC("license") = "GPL";
