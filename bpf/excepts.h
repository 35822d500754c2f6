/* SPDX-License-Identifier: GPL-2.0-only */
/* Names that a grant leaves out: `--except .env`, `--except .git:ro`. */
#ifndef BENCHMON_BPF_EXCEPTS_H
#define BENCHMON_BPF_EXCEPTS_H

#include "maps.h"

struct decision {
	__u32 rule; /* BM_RULE_NONE: allowed */
	__u32 grant;
	__u64 object;
	__u64 expiry_ns;
};

/* Accepts NULL, which a name that is yet to be made has for an inode: the helper tests for it. */
static __always_inline struct bm_object *object_of(struct inode *inode)
{
	return bpf_inode_storage_get(&objects, inode, NULL, 0);
}

/*
 * True when directory's child has a name that is excepted from what is wanted. It is the name the
 * dentry has now: whoever renames it needs w on both names. A function of its own for its stack.
 */
static __noinline int excepted(__u32 bench, __u64 directory, struct dentry *child, __u32 wanted,
			       struct decision *ret)
{
	struct bm_except_key key = { .bench = bench, .object = directory };
	struct bm_except *except;
	__u32 left;

	/* The whole room read means a name too long to be one. */
	if (bpf_probe_read_kernel_str(key.name, BM_EXCEPT_NAME_MAX + 2, child->d_name.name) >
	    BM_EXCEPT_NAME_MAX + 1)
		return false;
	except = bpf_map_lookup_elem(&excepts, &key);
	if (!except)
		return false;
	/* What is left readable is as little executable as the rest: that says its own rule. */
	left = except->rights ? except->rights | BM_X : 0;
	if (!(wanted & ~left))
		return false;
	ret->rule = BM_RULE_EXCEPTED;
	ret->grant = except->grant;
	ret->object = directory;
	return true;
}

#endif
