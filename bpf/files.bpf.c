// SPDX-License-Identifier: GPL-2.0-only
/* Opening: the door to every file's content. */
#include "open.h"

volatile struct bm_config config;

static __always_inline __u32 rights_of_open(struct file *file)
{
	__u32 wanted = 0;

	if (file->f_mode & FMODE_READ)
		wanted |= BM_R;
	/* O_RDONLY | O_TRUNC empties the file through an fd that can't write. */
	if (file->f_mode & FMODE_WRITE || file->f_flags & O_TRUNC)
		wanted |= BM_W;
	if (file->f_flags & FMODE_EXEC_FLAG)
		wanted |= BM_X;
	/* open(2) with access mode 3 gives neither, yet an fd that ioctls: ask for both. */
	return wanted ?: BM_R | BM_W;
}

/* The failing execve comes to bm_refused next, which would record it once more. */
static __always_inline void note_recorded(void)
{
	struct bm_task *task = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), NULL, 0);

	if (task)
		task->recorded = 1;
}

SEC("lsm/file_open")
int BPF_PROG(bm_file_open, struct file *file, int ret)
{
	struct decision decision;
	struct bm_bench *bench;
	__u32 wanted, id, flags;

	if (ret)
		return ret;
	bench = bench_of_current();
	if (!bench)
		return 0;
	id = bench->id;
	flags = bench->flags;
	wanted = rights_of_open(file);
	decide_open(bench, flags, file, wanted, &decision);
	if (decision.rule == BM_RULE_NONE) {
		if (tells_uses(flags, &decision) && !is_arrival(id))
			tell_use(id, BM_HOOK_FILE_OPEN, file->f_path.dentry, wanted, &decision);
		return 0;
	}
	/*
	 * The runtime may read the host's files; what it executes is the Bench's payload. And what
	 * an overlay opens in its layers: the task's own open of the overlay's file was judged
	 * before. Never to execute: that needs a mark.
	 */
	if (!(wanted & BM_X) && (is_arrival(id) || acts_as_mounter()))
		return 0;
	if (wanted & BM_X)
		note_recorded();
	return refuse_file(id, BM_HOOK_FILE_OPEN, file, wanted, &decision);
}

char LICENSE[] SEC("license") = "GPL";
