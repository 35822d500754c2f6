/* SPDX-License-Identifier: GPL-2.0-only */
/* The way up from a file to the object that decides, while others rename. */
#ifndef BENCHMON_BPF_WALK_H
#define BENCHMON_BPF_WALK_H

#include "excepts.h"
#include "judge.h"

/* True when inode is an object with an entry for this Bench; that entry then decides. */
static __always_inline bool object_decides(__u32 bench, __u64 object, __u32 wanted,
					   struct decision *ret)
{
	struct bm_grant_key key = { .bench = bench, .object = object };
	struct bm_grant *grant = bpf_map_lookup_elem(&grants, &key);

	if (!grant)
		return false;
	ret->object = key.object;
	ret->grant = grant->grant;
	ret->expiry_ns = grant->expiry_ns;
	ret->rule = judge(grant, wanted);
	return true;
}

/*
 * The way up from a file, nearest first. What is found stands in decision.
 *
 * Others rename meanwhile. A name that is left out, read when its file has just been moved away and
 * got another, would not be known; a file that is moved out of a directory which is then moved into
 * a grant would seem to lie in it. So the parent and the name of one dentry are read at one value
 * of its d_seq, and what is not refused is gone again: if no d_seq has changed, all was so at one
 * moment.
 */
struct walk {
	struct dentry *dentry;
	__u64 object; /* dentry's; 0: it is none */
	__u64 trail;  /* each d_seq counts */
	__u32 steps, torn;
	__u32 bench;
	__u32 wanted;
	struct decision decision;
};

/*
 * The same number, of which the verifier no longer knows which: it would follow each rule that a
 * way may end with through all that comes after, and from 6.7 on each count of a loop's as a loop
 * of its own.
 */
static __always_inline __u32 any(__u32 number, __u32 unknown)
{
	asm volatile("%0 ^= %1; %0 ^= %1" : "+r"(number) : "r"(unknown));
	return number;
}

#define TORN_MAX 128
#define TRAIL_FACTOR 0x9e3779b97f4a7c15ull

static long decide_step(__u32 i, struct walk *walk)
{
	struct dentry *dentry = walk->dentry, *parent;
	__u32 seq = dentry->d_seq.seqcount.sequence;
	struct bm_object *object;
	__u64 above;

	if (walk->object &&
	    object_decides(walk->bench, walk->object, walk->wanted, &walk->decision)) {
		walk->decision.rule = any(walk->decision.rule, seq);
		return 1;
	}
	barrier();
	parent = dentry->d_parent;
	if (parent == dentry) {
		walk->decision.rule = any(BM_RULE_NO_GRANT, seq);
		return 1;
	}
	if (i - walk->torn >= BM_MAX_DEPTH)
		return 1;
	object = object_of(parent->d_inode);
	above = object ? object->id : 0;
	if (above && excepted(walk->bench, above, dentry, walk->wanted, &walk->decision)) {
		walk->decision.rule = any(walk->decision.rule, seq);
		return 1;
	}
	barrier();
	if (seq & 1 || seq != dentry->d_seq.seqcount.sequence) {
		walk->torn = any(walk->torn + 1, seq);
		return 0;
	}
	walk->object = above;
	walk->dentry = parent;
	walk->trail = (walk->trail + seq) * TRAIL_FACTOR;
	walk->steps = any(walk->steps + 1, seq);
	return 0;
}

/* Its parent first: as long as d_seq is the same, so is that. */
static long trail_step(__u32 i, struct walk *walk)
{
	struct dentry *dentry = walk->dentry;

	walk->dentry = dentry->d_parent;
	barrier();
	walk->trail = (walk->trail + dentry->d_seq.seqcount.sequence) * TRAIL_FACTOR;
	return 0;
}

/* False: it has changed on the way. bpf_loop(): a loop the verifier would follow level by level. */
static __noinline int decide_way(__u32 bench, struct dentry *dentry, __u32 wanted,
				 struct decision *ret)
{
	struct bm_object *object = object_of(dentry->d_inode);
	struct walk walk = { .dentry = dentry,
			     .object = object ? object->id : 0,
			     .bench = bench,
			     .wanted = wanted,
			     .decision.rule = BM_RULE_DEPTH };
	__u64 trail;

	bpf_loop(BM_MAX_DEPTH + TORN_MAX, decide_step, &walk, 0);
	*ret = walk.decision;
	ret->rule = any(ret->rule, dentry->d_seq.seqcount.sequence);
	/* One step was read at one moment already; and what refuses may as well be old. */
	if ((ret->rule != BM_RULE_NONE && ret->rule != BM_RULE_NEVER_BOTH &&
	     ret->rule != BM_RULE_NO_GRANT) ||
	    walk.steps <= 1)
		return true;
	trail = walk.trail;
	walk.trail = 0;
	walk.dentry = dentry;
	bpf_loop(walk.steps, trail_step, &walk, 0);
	return walk.trail == trail;
}

static __always_inline void decide_walk(__u32 bench, struct dentry *dentry, __u32 wanted,
					struct decision *ret)
{
	/* Not tried again: the verifier would follow it once more, for each way the first can end.
	 */
	if (!decide_way(bench, dentry, wanted, ret))
		*ret = (struct decision){ .rule = BM_RULE_DEPTH };
}

#endif
