// SPDX-License-Identifier: GPL-2.0-only
/* Sizes, modes, owners, times. A host grant never carries what would be a privilege on the host. */
#include "check.h"

/* include/linux/fs.h; macros, so not in BTF. */
#define ATTR_ATIME (1 << 4)
#define ATTR_MTIME (1 << 5)
#define ATTR_ATIME_SET (1 << 7)
#define ATTR_MTIME_SET (1 << 8)
#define ATTR_TIMES (ATTR_ATIME | ATTR_MTIME | ATTR_ATIME_SET | ATTR_MTIME_SET)
#define ATTR_SIZE (1 << 3)

struct iattr {
	unsigned int ia_valid;
} KERNEL;

SEC("lsm/path_truncate")
int BPF_PROG(bm_truncate, const struct path *path, int ret)
{
	return ret ?: check_path(path, path->dentry, BM_HOOK_TRUNCATE, BM_W, 0, 0);
}

/* ftruncate and O_TRUNC from 6.2 on; before, they came to path_truncate too. */
SEC("lsm/file_truncate")
int BPF_PROG(bm_ftruncate, struct file *file, int ret)
{
	return ret ?: check_path(&file->f_path, file->f_path.dentry, BM_HOOK_TRUNCATE, BM_W, 0, 0);
}

SEC("lsm/path_chmod")
int BPF_PROG(bm_chmod, const struct path *path, umode_t mode, int ret)
{
	return ret
		       ?: check_path(path, path->dentry, BM_HOOK_CHMOD, BM_W,
				     mode & (S_ISUID | S_ISGID), BM_RULE_PRIVILEGE);
}

/*
 * tar, sed and sqlite tell root's files whose they are already. -1 is an id that stays, or one that
 * the mount doesn't map, which the kernel itself refuses next (EOVERFLOW).
 */
static __always_inline bool changes_owner(struct inode *inode, __u32 uid, __u32 gid)
{
	bool same_uid = uid == inode->i_uid.val;
	bool same_gid = gid == inode->i_gid.val;

	return !(same_uid && same_gid) && !(same_uid && gid == -1u) && !(uid == -1u && same_gid);
}

SEC("lsm/path_chown")
int BPF_PROG(bm_chown, const struct path *path, unsigned long uid, unsigned long gid, int ret)
{
	return ret
		       ?: check_path(path, path->dentry, BM_HOOK_CHOWN, BM_W,
				     changes_owner(path->dentry->d_inode, uid, gid),
				     BM_RULE_PRIVILEGE);
}

/* utimes has no path hook. What else comes here has met its own: chmod, chown, truncate, write. */
static __always_inline int check_times(struct dentry *dentry, struct iattr *attr)
{
	if (!(attr->ia_valid & ATTR_TIMES) || attr->ia_valid & ATTR_SIZE)
		return 0;
	return check_dentry(dentry, BM_HOOK_SETATTR, BM_W, 0, 0);
}

SEC("lsm/inode_setattr")
int BPF_PROG(bm_setattr_2, struct dentry *dentry, struct iattr *attr, int ret)
{
	return ret ?: check_times(dentry, attr);
}

/* From 6.3 on with the mount's id map in front. */
SEC("lsm/inode_setattr")
int BPF_PROG(bm_setattr_3, void *idmap, struct dentry *dentry, struct iattr *attr, int ret)
{
	return ret ?: check_times(dentry, attr);
}

char LICENSE[] SEC("license") = "GPL";
