// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an arrival could be made use of by: what it carries across its exec. Nobody in the Bench
 * gets hold of it before: tasks.bpf.c. But the names that it goes by on its way are the Bench's,
 * and a link of procfs, which it may follow, leads out.
 */
#include "refuse.h"
#include "who.h"

#define WORD_BITS 64
#define FD_WORDS 64 /* 4,096 fds; a table that ever was larger refuses the exec */

/* The first fd above 2 that would survive the exec, 0 for none, -1 for a table too large. */
static __always_inline int inherited_fd(struct fdtable *fdt)
{
	unsigned long *open = fdt->open_fds, *close_on_exec = fdt->close_on_exec;
	__u32 words = fdt->max_fds / WORD_BITS;

	if (words > FD_WORDS)
		return -1;
	for (__u32 i = 0; i < FD_WORDS; i++) {
		unsigned long is_open = ~0ul, closes = 0;

		if (i >= words)
			break;
		bpf_probe_read_kernel(&is_open, sizeof(is_open), open + i);
		bpf_probe_read_kernel(&closes, sizeof(closes), close_on_exec + i);
		is_open &= ~closes;
		if (i == 0)
			is_open &= ~7ul;
		if (is_open)
			return i * WORD_BITS + 3; /* in this word, at or after it */
	}
	return 0;
}

/* A directory is asked like a file that is opened: there the payload would find itself. */
static __always_inline bool is_elsewhere(const struct bm_bench *bench, const struct path *path)
{
	struct decision decision;
	__u32 id = bench->id;

	decide_at(bench, path->mnt, path->dentry, BM_R, &decision);
	if (decision.rule == BM_RULE_NONE)
		return false;
	return refuse_dentry(id, BM_HOOK_LOOKUP, path->dentry, path->dentry, BM_R, &decision);
}

SEC("lsm/bprm_check_security")
int BPF_PROG(bm_place, struct linux_binprm *bprm, int ret)
{
	struct bm_bench *bench;
	struct fs_struct *fs;

	if (ret)
		return ret;
	bench = bench_of_current();
	if (!bench || !is_arrival(bench->id))
		return 0;
	fs = bpf_get_current_task_btf()->fs;
	return !fs || is_elsewhere(bench, &fs->pwd) || is_elsewhere(bench, &fs->root) ? -EACCES : 0;
}

SEC("lsm/bprm_check_security")
int BPF_PROG(bm_entry, struct linux_binprm *bprm, int ret)
{
	struct bm_bench *bench;
	struct bm_event *event;
	int fd;

	if (ret)
		return ret;
	bench = bench_of_current();
	if (!bench || !is_arrival(bench->id))
		return 0;
	fd = inherited_fd(bpf_get_current_task_btf()->files->fdt);
	if (!fd)
		return 0;
	event = record(bench->id, BM_HOOK_ARRIVAL, BM_DENY, BM_RULE_INHERITED_FD, EACCES);
	if (event) {
		record_process(event);
		event->arrival.fd = fd;
		for (int i = 0; i < 3; i++)
			event->arrival.mode[i] = 0;
		bpf_ringbuf_submit(event, 0);
	}
	return -EACCES;
}

char LICENSE[] SEC("license") = "GPL";
