// SPDX-License-Identifier: GPL-2.0-only
/*
 * exec: image, where memory is made executable or changed with no mapping to be judged: by another
 * process, by the personality (brk(2) heeds it and has no hook), by the stack that a program asks
 * for. The last two have no hook that could refuse: who gets that far is killed, before it runs.
 */
#include "image.h"

#define PTRACE_MODE_ATTACH 0x02
#define READ_IMPLIES_EXEC 0x0400000
#define GET_PERSONALITY 0xffffffff
#define SIGKILL 9

/* With another suffix than the kernel's: bpf_tracing.h may bring that of the headers. */
struct pt_regs___64 {
	unsigned long bx;
	unsigned long di;
} KERNEL;

/* The Bench of current when it is of this mode and current no arrival; else 0. */
static __always_inline __u32 image_bench(void)
{
	struct bm_bench *bench = bench_of_current();
	__u32 id;

	if (!bench || !(bench->flags & BM_BENCH_IMAGE))
		return 0;
	id = bench->id;
	return is_arrival(id) ? 0 : id;
}

static __always_inline int refuse_tracing(struct task_struct *other)
{
	__u32 bench = image_bench();
	struct bm_event *event;

	if (!bench)
		return 0;
	event = record(bench, BM_HOOK_PTRACE, BM_DENY, BM_RULE_EXEC_IMAGE, EACCES);
	if (event) {
		record_process(event);
		event->task.target = other->tgid;
		event->task.pad = 0;
		bpf_ringbuf_submit(event, 0);
	}
	return -EACCES;
}

/* Also process_vm_writev, /proc/PID/mem and pidfd_getfd. What only reads is another mode. */
SEC("lsm/ptrace_access_check")
int BPF_PROG(bm_trace, struct task_struct *child, unsigned int mode, int ret)
{
	return ret || !(mode & PTRACE_MODE_ATTACH) ? ret : refuse_tracing(child);
}

SEC("lsm/ptrace_traceme")
int BPF_PROG(bm_traceme, struct task_struct *parent, int ret)
{
	return ret ?: refuse_tracing(parent);
}

static __always_inline int check_personality(__u32 wanted)
{
	__u32 bench;

	if (wanted == GET_PERSONALITY || !(wanted & READ_IMPLIES_EXEC))
		return 0;
	bench = image_bench();
	if (bench) {
		bpf_send_signal(SIGKILL);
		record_bare(bench, BM_HOOK_PERSONALITY, BM_X, BM_RULE_EXEC_IMAGE, 0);
	}
	return 0;
}

SEC("fentry/__x64_sys_personality")
int BPF_PROG(bm_personality, struct pt_regs___64 *regs)
{
	return check_personality(regs->di);
}

SEC("fentry/__ia32_sys_personality")
int BPF_PROG(bm_personality_32, struct pt_regs___64 *regs)
{
	return check_personality(regs->bx);
}

/* The new stack as it became: asked for by the program's header, or by a 32-bit one's lack of it.
 */
SEC("fexit/setup_arg_pages")
int BPF_PROG(bm_stack, struct linux_binprm *bprm, unsigned long top, int executable, int ret)
{
	struct decision decision = { .rule = BM_RULE_EXEC_IMAGE };
	__u32 bench;

	if (ret || !(bprm->vma->vm_flags & VM_EXEC))
		return 0;
	bench = image_bench();
	if (bench) {
		bpf_send_signal(SIGKILL);
		record_file(bench, BM_HOOK_EXEC, bprm->file, BM_X, &decision);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
