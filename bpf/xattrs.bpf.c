// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extended attributes and ACLs. In a host grant only user.* and ACLs may be set: security.* plants
 * file capabilities, trusted.* means something to the host's overlays.
 */
#include "check.h"

static __always_inline bool begins(const char *text, const char *prefix, int len)
{
	for (int i = 0; i < len; i++)
		if (text[i] != prefix[i])
			return false;
	return true;
}

/* True for "user." and "system.posix_acl_"; an unreadable name is neither. */
static __always_inline bool harmless_xattr(const char *name)
{
	char text[20] = {};

	if (bpf_probe_read_kernel_str(text, sizeof(text), name) < 0)
		return false;
	return begins(text, "user.", 5) || begins(text, "system.posix_acl_", 17);
}

static __always_inline int check_set(struct dentry *dentry, const char *name)
{
	return check_dentry(dentry, BM_HOOK_SETXATTR, BM_W, !harmless_xattr(name),
			    BM_RULE_PRIVILEGE);
}

SEC("lsm/inode_setxattr")
int BPF_PROG(bm_setxattr, void *idmap, struct dentry *dentry, const char *name, const void *value,
	     unsigned long size, int flags, int ret)
{
	return ret ?: check_set(dentry, name);
}

SEC("lsm/inode_removexattr")
int BPF_PROG(bm_removexattr, void *idmap, struct dentry *dentry, const char *name, int ret)
{
	return ret ?: check_set(dentry, name);
}

/* From 6.2 on; before, ACLs came to inode_setxattr. */
SEC("lsm/inode_set_acl")
int BPF_PROG(bm_set_acl, void *idmap, struct dentry *dentry, const char *name, void *acl, int ret)
{
	return ret ?: check_dentry(dentry, BM_HOOK_SETXATTR, BM_W, 0, 0);
}

SEC("lsm/inode_remove_acl")
int BPF_PROG(bm_remove_acl, void *idmap, struct dentry *dentry, const char *name, int ret)
{
	return ret ?: check_dentry(dentry, BM_HOOK_SETXATTR, BM_W, 0, 0);
}

SEC("lsm/inode_get_acl")
int BPF_PROG(bm_get_acl, void *idmap, struct dentry *dentry, const char *name, int ret)
{
	return ret ?: check_dentry(dentry, BM_HOOK_GETXATTR, BM_R, 0, 0);
}

SEC("lsm/inode_getxattr")
int BPF_PROG(bm_getxattr, struct dentry *dentry, const char *name, int ret)
{
	return ret ?: check_dentry(dentry, BM_HOOK_GETXATTR, BM_R, 0, 0);
}

SEC("lsm/inode_listxattr")
int BPF_PROG(bm_listxattr, struct dentry *dentry, int ret)
{
	return ret ?: check_dentry(dentry, BM_HOOK_GETXATTR, BM_R, 0, 0);
}

char LICENSE[] SEC("license") = "GPL";
