// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a container was given of capabilities does not count: a Bench uses those of its mask. The
 * hook comes after the kernel's own rules, so a mask only takes away.
 */
#include "subject.h"

#define CAP_OPT_NOAUDIT 2

/*
 * overlayfs asks with its mounter's credentials, put on for the call, and without an answer deleted
 * files reappear. Of a task's own only access(2) puts others on, and looks them up by itself.
 * A file's opener (f_cred) is asked about too; that may be what the task itself was once, and is
 * masked like the task.
 */
static __always_inline bool puts_on(const struct cred *cred)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return cred == task->cred && cred != task->real_cred;
}

/*
 * In a user namespace of the Bench's own making its creator is root, of nothing but what is there.
 * All below the Bench's own are. Not so below the host's: there others' lie too, and who has come
 * from the host's is masked.
 */
static __always_inline __u64 mask_of(const struct bm_bench *bench, const struct cred *cred,
				     const struct user_namespace *ns)
{
	const struct user_namespace *from = cred->user_ns;

	if (!(bench->flags & BM_BENCH_USERNS) || ns->ns.inum == bench->userns ||
	    (from->ns.inum == bench->userns && !from->level))
		return bench->capabilities;
	return BM_USERNS_CAPABILITIES;
}

SEC("lsm/capable")
int BPF_PROG(bm_capable, const struct cred *cred, struct user_namespace *ns, int cap,
	     unsigned int opts)
{
	struct bm_bench *bench;

	if (puts_on(cred))
		return 0;
	bench = bench_of_current();
	if (!bench || (mask_of(bench, cred, ns) & 1ull << (cap & 63)) || is_arrival(bench->id))
		return 0;
	/* Asked only to do more than without: no refusal that anybody would notice. */
	return opts & CAP_OPT_NOAUDIT ? -EPERM
				      : refuse(bench->id, BM_HOOK_CAPABLE, BM_RULE_CAPABILITY,
					       EPERM, cap, 0, NULL);
}

SEC("lsm/userns_create")
int BPF_PROG(bm_userns, const struct cred *cred)
{
	struct bm_bench *bench = walled_bench();

	if (!bench || bench->flags & BM_BENCH_USERNS)
		return 0;
	return refuse(bench->id, BM_HOOK_USERNS, BM_RULE_USERNS, EPERM, 0, 0, NULL);
}

char LICENSE[] SEC("license") = "GPL";
