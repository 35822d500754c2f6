// SPDX-License-Identifier: GPL-2.0-only
/*
 * For the record alone: an execve that the kernel refuses by itself. The noexec of a relocated
 * mount (and a missing x bit) is found in may_open(), before any LSM hook, so that without this a
 * payload could try to execute what it was granted and nobody would hear of it.
 */
#include "record.h"
#include "who.h"

struct filename {
	const char *name;
} KERNEL;

SEC("fexit/do_open_execat")
int BPF_PROG(bm_refused, int fd, struct filename *name, int flags, struct file *file)
{
	struct bm_event *event;
	struct bm_bench *bench;
	struct bm_task *task;

	if ((long)file != -EACCES)
		return 0;
	bench = bench_of_current();
	if (!bench)
		return 0;
	/* Refused and recorded by file_open a moment ago. */
	task = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), NULL, 0);
	if (task && task->recorded) {
		task->recorded = 0;
		return 0;
	}
	event = record(bench->id, BM_HOOK_EXEC, BM_DENY, BM_RULE_EXEC_REFUSED, EACCES);
	if (!event)
		return 0;
	record_process(event);
	__builtin_memset(&event->file, 0, offsetof(struct bm_event_file, names));
	event->file.wanted = BM_X;
	/* One string: the path as it was given. */
	if (bpf_probe_read_kernel_str(event->file.names, sizeof(event->file.names), name->name) < 0)
		event->file.names[0][0] = '\0';
	bpf_ringbuf_submit(event, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
