// SPDX-License-Identifier: GPL-2.0-only
/* Looking: stat, readlink, watches. They must not tell what there is on the host. */
#include "check.h"

/* fstat(2) on its terminal tells a process what it holds already. */
SEC("lsm/inode_getattr")
int BPF_PROG(bm_getattr, const struct path *path, int ret)
{
	struct task_struct *task = bpf_get_current_task_btf();

	/* overlayfs asks its layers under its mounter's credentials, and through no mount of ours.
	 */
	if (ret || task->cred != task->real_cred || is_pts(path->dentry))
		return ret;
	return check_path(path, path->dentry, BM_HOOK_GETATTR, BM_R, 0, 0);
}

SEC("lsm/inode_readlink")
int BPF_PROG(bm_readlink, struct dentry *dentry, int ret)
{
	return ret ?: check_dentry(dentry, BM_HOOK_READLINK, BM_R, 0, 0);
}

/* A watch tells of everybody's accesses: on what the Bench may not write, of the host's alone. */
SEC("lsm/path_notify")
int BPF_PROG(bm_notify, const struct path *path, __u64 mask, unsigned int type, int ret)
{
	return ret ?: check_path(path, path->dentry, BM_HOOK_NOTIFY, BM_R | BM_W, 0, 0);
}

char LICENSE[] SEC("license") = "GPL";
