/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters and events. The counters are the truth; an event may find no room, or be one of too
 * many, and is then counted as lost. Called after the verdict: nothing here can change it.
 */
#ifndef BENCHMON_BPF_RECORD_H
#define BENCHMON_BPF_RECORD_H

#include "decide.h"
#include "process.h"
#include "room.h"

/* NULL when the event finds no room. Everything up to the union is filled. */
static __always_inline struct bm_event *record(__u32 bench, __u32 hook, __u32 verdict, __u32 rule,
					       int error)
{
	struct bm_stats *count = bpf_map_lookup_elem(&stats, &bench);
	__u64 now = bpf_ktime_get_boot_ns(), seq;
	struct bm_event *event;

	if (!count)
		return NULL;
	__sync_fetch_and_add(&count->count[hook][verdict], 1);
	seq = __sync_fetch_and_add(&count->seq, 1) + 1;
	event = has_room(count, now) ? bpf_ringbuf_reserve(&events, sizeof(*event), 0) : NULL;
	if (!event) {
		__sync_fetch_and_add(&count->lost, 1);
		return NULL;
	}
	event->time_ns = now;
	event->seq = seq;
	event->bench = bench;
	event->hook = hook;
	event->verdict = verdict;
	event->rule = rule;
	event->error = error;
	event->pid = 0;
	event->tid = 0;
	event->uid = 0;
	__builtin_memset(event->comm, 0,
			 offsetof(struct bm_event, exe) - offsetof(struct bm_event, comm));
	return event;
}

static __always_inline void record_names(struct bm_event_file *event, struct dentry *dentry)
{
	event->name_count = 0;
	event->truncated = 1;
	for (int i = 0; i < BM_NAMES; i++) {
		struct dentry *parent = dentry->d_parent;

		if (bpf_probe_read_kernel_str(event->names[i], BM_NAME_LEN, dentry->d_name.name) <
		    0)
			event->names[i][0] = '\0';
		event->name_count = i + 1;
		if (parent == dentry) {
			event->truncated = 0;
			break;
		}
		dentry = parent;
	}
}

/*
 * located is where it is, shown what is named: a new name in it, or the same. The dentry of a name
 * that is to be made has no inode, and 6.12 takes d_inode for never NULL: it drops the test for it
 * and the program takes the kernel down. So nothing here looks at shown's.
 */
static __always_inline void record_place(struct bm_event_file *event, struct dentry *located,
					 struct dentry *shown, __u32 wanted,
					 const struct decision *decision)
{
	struct inode *inode = located->d_inode;

	event->inode = inode->i_ino;
	event->device = inode->i_sb->s_dev;
	event->wanted = wanted;
	event->object = decision->object;
	event->grant = decision->grant;
	record_names(event, shown);
}

static __always_inline void record_dentry(__u32 bench, __u32 hook, struct dentry *located,
					  struct dentry *shown, __u32 wanted,
					  const struct decision *decision)
{
	bool learns = decision->rule == BM_RULE_LEARN;
	struct bm_event *event;

	event = learns ? record(bench, hook, BM_WOULD_DENY, BM_RULE_NO_GRANT, 0)
		       : record(bench, hook, BM_DENY, decision->rule, EACCES);
	if (!event)
		return;
	if (learns)
		note_told(bench, located, wanted);
	record_process(event);
	record_place(&event->file, located, shown, wanted, decision);
	bpf_ringbuf_submit(event, 0);
}

/* For a hook that is told no dentry: the object's number has to do. */
static __always_inline void record_inode(__u32 bench, __u32 hook, struct inode *inode, __u32 wanted,
					 const struct decision *decision)
{
	struct bm_event *event = record(bench, hook, BM_DENY, decision->rule, EACCES);

	if (!event)
		return;
	record_process(event);
	event->file.inode = inode->i_ino;
	event->file.device = inode->i_sb->s_dev;
	event->file.wanted = wanted;
	event->file.object = decision->object;
	event->file.grant = decision->grant;
	event->file.name_count = 0;
	event->file.truncated = 0;
	bpf_ringbuf_submit(event, 0);
}

/* Of what is no file; wanted is BM_X for memory. */
static __always_inline void record_bare(__u32 bench, __u32 hook, __u32 wanted, __u32 rule,
					int error)
{
	struct bm_event *event = record(bench, hook, BM_DENY, rule, error);

	if (!event)
		return;
	record_process(event);
	__builtin_memset(&event->file, 0, offsetof(struct bm_event_file, names));
	event->file.wanted = wanted;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void record_file(__u32 bench, __u32 hook, struct file *file, __u32 wanted,
					const struct decision *decision)
{
	struct dentry *dentry = file->f_path.dentry;

	record_dentry(bench, hook, dentry, dentry, wanted, decision);
}

#endif
