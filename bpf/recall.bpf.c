// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a descriptor meets whose grant is gone, or never was. These hooks are hot for everybody, so
 * they are attached only while some Bench holds, or may come to hold, such a descriptor.
 */
#include "argument.h"
#include "check.h"

#define MAY_WRITE 0x2
#define MAY_READ 0x4
#define VM_SHARED_FLAG 0x1 /* MAP_SHARED, also in MAP_SHARED_VALIDATE */

static __always_inline int check_held(struct file *file, __u32 hook, __u32 wanted)
{
	struct bm_bench *bench = bench_of_current();
	struct dentry *dentry = file->f_path.dentry;
	struct decision decision;
	__u32 id;

	if (!bench)
		return 0;
	id = bench->id;
	decide(bench, file, wanted, &decision);
	/* That it was opened is told, where it is a volume of who learns. */
	if (lets_through(decision.rule) || is_pts(dentry) || was_carried(id, dentry))
		return 0;
	/* The layer's file below an overlay's, which was judged itself. */
	if (acts_as_mounter() || is_arrival(id))
		return 0;
	record_file(id, hook, file, wanted, &decision);
	return -EACCES;
}

/* read, write, getdents, splice, sendfile, copy_file_range, clone, fallocate, aio, io_uring. */
SEC("lsm/file_permission")
int BPF_PROG(bm_recall, struct file *file, int mask, int ret)
{
	__u32 wanted = mask & MAY_WRITE ? BM_W : 0;

	if (ret)
		return ret;
	if (mask & MAY_READ)
		wanted |= BM_R;
	return check_held(file, BM_HOOK_FILE_PERMISSION, wanted ?: BM_R);
}

/* A new mapping of an old descriptor. What it may execute is bm_mmap's matter. */
SEC("lsm/mmap_file")
int BPF_PROG(bm_recall_map, struct file *file, unsigned long reqprot, unsigned long prot,
	     unsigned long flags, int ret)
{
	enum argument there = first_argument(ctx);
	__u32 wanted = BM_R;

	if (ret || there == ARGUMENT_NULL)
		return ret;
	if (there == ARGUMENT_UNKNOWN)
		return bench_of_current() ? -EACCES : 0;
	/* mprotect(2) makes a shared mapping of a writable descriptor writable at any time. */
	if (flags & VM_SHARED_FLAG && file->f_mode & FMODE_WRITE)
		wanted |= BM_W;
	return check_held(file, BM_HOOK_MMAP, wanted);
}

/*
 * Looking up names from a directory that is held: access(2), chdir(2), O_PATH and their like meet
 * no other hook. The object itself is known by its mark, and so is each directory of it that was
 * found held; the working directory and the root are asked like any file.
 */
static __always_inline bool is_closed(const struct bm_bench *bench, struct inode *inode,
				      struct decision *ret)
{
	struct bm_object *object = bpf_inode_storage_get(&objects, inode, NULL, 0);
	struct bm_grant_key key = { .bench = bench->id };
	struct bm_grant *grant;

	if (!object)
		return false;
	key.object = object->id;
	grant = bpf_map_lookup_elem(&grants, &key);
	if (!grant)
		return false;
	ret->object = object->id;
	ret->grant = grant->grant;
	ret->rule = never_both(bench, judge(grant, 0));
	return ret->rule != BM_RULE_NONE;
}

static __always_inline bool is_barred(const struct bm_bench *bench, const struct path *path,
				      struct inode *inode, struct decision *ret)
{
	if (path->dentry->d_inode != inode)
		return false;
	decide_at(bench, path->mnt, path->dentry, BM_R, ret);
	return !lets_through(ret->rule) && !was_carried(bench->id, path->dentry);
}

/* Of the working directory and the root the names are known, of any other its number alone. */
static __always_inline void record_lookup(__u32 bench, const struct path *path, struct inode *inode,
					  const struct decision *decision)
{
	if (path)
		record_dentry(bench, BM_HOOK_LOOKUP, path->dentry, path->dentry, BM_R, decision);
	else
		record_inode(bench, BM_HOOK_LOOKUP, inode, BM_R, decision);
}

SEC("lsm/inode_permission")
int BPF_PROG(bm_lookup, struct inode *inode, int mask, int ret)
{
	struct decision decision = { .rule = BM_RULE_NONE };
	const struct path *path = NULL;
	struct fs_struct *fs;
	struct bm_bench *bench;
	__u32 id;

	if (ret || (inode->i_mode & S_IFMT) != S_IFDIR)
		return ret;
	bench = bench_of_current();
	if (!bench)
		return 0;
	id = bench->id;
	fs = bpf_get_current_task_btf()->fs;
	if (!fs)
		return 0;
	if (is_barred(bench, &fs->pwd, inode, &decision))
		path = &fs->pwd;
	else if (is_barred(bench, &fs->root, inode, &decision))
		path = &fs->root;
	else if (!is_closed(bench, inode, &decision))
		return 0;
	if (acts_as_mounter() || is_arrival(id))
		return 0;
	record_lookup(id, path, inode, &decision);
	return -EACCES;
}

char LICENSE[] SEC("license") = "GPL";
