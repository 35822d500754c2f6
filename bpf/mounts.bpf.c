// SPDX-License-Identifier: GPL-2.0-only
/*
 * A Bench changes no mounts, also where it is root of a user namespace of its own: what a mount
 * hides, and the flags it has, are part of the walls. open_tree(), fsopen() and mount_setattr()
 * have no hook but CAP_SYS_ADMIN; what they bring forth can be mounted nowhere, and is read by its
 * marks.
 */
#include "subject.h"

static __always_inline int refuse_mount(const char *what)
{
	struct bm_bench *bench = walled_bench();

	return bench ? refuse(bench->id, BM_HOOK_MOUNT, BM_RULE_MOUNTS, EPERM, 0, 0, what) : 0;
}

SEC("lsm/sb_mount")
int BPF_PROG(bm_mount, const char *device, const struct path *path, const char *type,
	     unsigned long flags, void *data)
{
	return refuse_mount(type);
}

/* Of the new calls too, by fsmount(). */
SEC("lsm/sb_kern_mount")
int BPF_PROG(bm_new_mount, struct super_block *sb)
{
	return refuse_mount(NULL);
}

SEC("lsm/sb_remount")
int BPF_PROG(bm_remount, struct super_block *sb, void *options)
{
	return refuse_mount(NULL);
}

SEC("lsm/sb_umount")
int BPF_PROG(bm_umount, struct vfsmount *mount, int flags)
{
	return refuse_mount(NULL);
}

SEC("lsm/move_mount")
int BPF_PROG(bm_move_mount, const struct path *from, const struct path *to)
{
	return refuse_mount(NULL);
}

SEC("lsm/sb_pivotroot")
int BPF_PROG(bm_pivot_root, const struct path *new_root, const struct path *old_root)
{
	return refuse_mount(NULL);
}

SEC("lsm/quotactl")
int BPF_PROG(bm_quota, int command, int type, int id, struct super_block *sb)
{
	struct bm_bench *bench = walled_bench();

	return bench ? refuse(bench->id, BM_HOOK_QUOTA, BM_RULE_KERNEL, EPERM, command, 0, NULL)
		     : 0;
}

char LICENSE[] SEC("license") = "GPL";
