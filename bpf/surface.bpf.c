// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel surface that no work in a Bench needs: bpf(2), perf, modules and whatever loads code into
 * the kernel, keys, the kernel's log, core dumps. Most asks a capability that is masked; the hooks
 * hold where a sysctl asks for less.
 */
#include "subject.h"

#define PF_SIGNALED 0x400
#define CLONE_INTO_CGROUP 0x200000000ull
#define CLONE_PARENT 0x8000
#define CLONE_THREAD 0x10000

static __always_inline int refuse_surface(__u32 hook, __u32 number, const char *name)
{
	struct bm_bench *bench = walled_bench();

	return bench ? refuse(bench->id, hook, BM_RULE_KERNEL, EPERM, number, 0, name) : 0;
}

SEC("lsm/bpf")
int BPF_PROG(bm_bpf, int command)
{
	return refuse_surface(BM_HOOK_BPF, command, NULL);
}

SEC("lsm/perf_event_open")
int BPF_PROG(bm_perf_event)
{
	return refuse_surface(BM_HOOK_PERF_EVENT, 0, NULL);
}

/* Also what a socket of a new family or a mount of a new type would have loaded. */
SEC("lsm/kernel_module_request")
int BPF_PROG(bm_module_request, char *name)
{
	return refuse_surface(BM_HOOK_MODULE, 0, name);
}

/* finit_module, kexec_file_load. */
SEC("lsm/kernel_read_file")
int BPF_PROG(bm_read_file, struct file *file, int id, bool contents)
{
	return refuse_surface(BM_HOOK_MODULE, id, NULL);
}

/* init_module, kexec_load. */
SEC("lsm/kernel_load_data")
int BPF_PROG(bm_load_data, int id, bool contents)
{
	return refuse_surface(BM_HOOK_MODULE, id, NULL);
}

/* Whose a key is, is a matter of uids, which a container without a user namespace shares. */
SEC("lsm/key_permission")
int BPF_PROG(bm_key, void *key, const struct cred *cred, int permission)
{
	return refuse_surface(BM_HOOK_KEY, permission, NULL);
}

SEC("lsm/key_alloc")
int BPF_PROG(bm_new_key, void *key, const struct cred *cred, unsigned long flags)
{
	return refuse_surface(BM_HOOK_KEY, 0, NULL);
}

SEC("lsm/syslog")
int BPF_PROG(bm_syslog, int type)
{
	return refuse_surface(BM_HOOK_SYSLOG, type, NULL);
}

/*
 * The host's core_pattern may be a helper that runs as its root on what the Bench has made up; a
 * limit of 0 does not keep the kernel from that. A dump begins with credentials of its own, made
 * by who is being killed, and does not happen without.
 */
SEC("lsm/cred_prepare")
int BPF_PROG(bm_core_dump, struct cred *new_cred, const struct cred *old_cred, int gfp)
{
	struct bm_bench *bench;

	if (!(bpf_get_current_task_btf()->flags & PF_SIGNALED))
		return 0;
	bench = bench_of_current();
	return bench ? refuse(bench->id, BM_HOOK_CORE_DUMP, BM_RULE_CORE_DUMP, EPERM, 0, 0, NULL)
		     : 0;
}

/*
 * A child elsewhere, by a descriptor of a cgroup: within its own subtree nothing is lost by that.
 * And a brother where the parent is outside: the runtime, or gatekeeperd, would get children that
 * it never made, and does not wait for.
 */
static __always_inline bool leads_out(struct bm_bench *bench, unsigned long flags)
{
	struct bm_bench *other;

	if (flags & CLONE_INTO_CGROUP)
		return true;
	other = bench_of(bpf_get_current_task_btf()->real_parent->cgroups->dfl_cgrp);
	return !other || other->id != bench->id;
}

SEC("lsm/task_alloc")
int BPF_PROG(bm_clone, struct task_struct *task, unsigned long flags)
{
	struct bm_bench *bench;

	if (!(flags & CLONE_INTO_CGROUP) && (flags & (CLONE_PARENT | CLONE_THREAD)) != CLONE_PARENT)
		return 0;
	bench = walled_bench();
	if (!bench || !leads_out(bench, flags))
		return 0;
	return refuse(bench->id, BM_HOOK_CLONE,
		      flags & CLONE_INTO_CGROUP ? BM_RULE_CGROUP : BM_RULE_OUTSIDE, EPERM, 0, 0,
		      NULL);
}

char LICENSE[] SEC("license") = "GPL";
