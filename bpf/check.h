/* SPDX-License-Identifier: GPL-2.0-only */
/* What the hooks on paths, names and metadata have in common: who, may they, record, verdict. */
#ifndef BENCHMON_BPF_CHECK_H
#define BENCHMON_BPF_CHECK_H

#include "refuse.h"
#include "uses.h"
#include "who.h"

#define PTS_MAJOR_FIRST 136
#define PTS_MAJOR_LAST 143

/*
 * A pseudo-terminal. The one that a process was started on may be the operator's choice, outside
 * of every object.
 */
static __always_inline bool is_pts(struct dentry *dentry)
{
	__u32 major = dentry->d_inode->i_rdev >> 20;

	return major >= PTS_MAJOR_FIRST && major <= PTS_MAJOR_LAST;
}

/* What it was started with, a process holds already. */
static __always_inline bool was_carried(__u32 bench, struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;
	struct bm_carried_key key = { .bench = bench,
				      .device = inode->i_sb->s_dev,
				      .inode = inode->i_ino };

	return bpf_map_lookup_elem(&carried, &key);
}

/* What stands in registers already, where a Bench was not asked: one test. */
static __always_inline bool tells_uses(__u32 flags, const struct decision *decision)
{
	return flags & BM_BENCH_FIRST_USES && decision->grant;
}

static __noinline int tell_use(__u32 bench, __u32 hook, struct dentry *dentry, __u32 wanted,
			       const struct decision *decision)
{
	struct bm_use_key key = { .bench = bench, .grant = decision->grant };
	struct bm_event *event = record_use(&key, hook);

	if (!event)
		return 0;
	record_process(event);
	record_place(&event->file, dentry, dentry, wanted, decision);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/*
 * never: refused in a host grant whatever its rights, by never_rule: it would take effect on the
 * host.
 */
static __always_inline int verdict(__u32 bench, __u32 flags, __u32 hook, struct dentry *located,
				   struct dentry *shown, __u32 wanted, struct decision *decision,
				   __u32 never, __u32 never_rule)
{
	if (lets_through(decision->rule) && never && decision->grant)
		decision->rule = never_rule;
	if (decision->rule == BM_RULE_NONE && !tells_uses(flags, decision))
		return 0;
	if (is_arrival(bench))
		return 0;
	if (decision->rule == BM_RULE_NONE)
		return tell_use(bench, hook, located, wanted, decision);
	return refuse_dentry(bench, hook, located, shown, wanted, decision);
}

/* dentry decides; shown is what the event names (a new name in it, or the same). */
static __always_inline int check_path(const struct path *path, struct dentry *shown, __u32 hook,
				      __u32 wanted, __u32 never, __u32 never_rule)
{
	struct bm_bench *bench = bench_of_current();
	struct decision decision;
	__u32 id, flags;

	if (!bench)
		return 0;
	id = bench->id;
	flags = bench->flags;
	decide_at(bench, path->mnt, path->dentry, wanted, &decision);
	return verdict(id, flags, hook, path->dentry, shown, wanted, &decision, never, never_rule);
}

/*
 * overlayfs calls the inode hooks again for its layers, with its mounter's credentials; what the
 * task asked for was judged on the overlay's own dentry. Other credentials than its own a task can
 * bring about too: of an io_uring personality, there is none; of access(2), that are the task's own
 * again, with all that a container was given. Those alone are never waited for (non_rcu).
 */
static __always_inline bool acts_as_mounter(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct cred *cred = task->cred;
	__u32 capabilities = 0;

	if (cred == task->real_cred || cred->user_ns->level || BPF_CORE_READ(cred, non_rcu))
		return false;
	bpf_probe_read_kernel(&capabilities, sizeof(capabilities), &cred->cap_effective);
	return capabilities & (1u << CAP_SYS_ADMIN);
}

/* The same as check_path() for hooks that get a dentry alone. */
static __always_inline int check_dentry(struct dentry *dentry, __u32 hook, __u32 wanted,
					__u32 never, __u32 never_rule)
{
	struct bm_bench *bench = bench_of_current();
	struct decision decision;
	__u32 id, flags;

	if (!bench || acts_as_mounter())
		return 0;
	id = bench->id;
	flags = bench->flags;
	decide_dentry(bench, dentry, wanted, &decision);
	return verdict(id, flags, hook, dentry, dentry, wanted, &decision, never, never_rule);
}

#endif
