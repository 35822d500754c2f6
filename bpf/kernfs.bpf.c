// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of procfs, sysfs and cgroupfs a Bench may read and write: its own processes, its own cgroup,
 * and of the rest what is in `tells`, to be read. All by address: an inode of procfs is a part of
 * another structure, and the verifier lets no pointer go from the part to the whole.
 */
#include "kernfs.h"
#include "member.h"
#include "procfs.h"
#include "tells.h"

/* A file that lies deeper tells of the host. */
#define KERNFS_DEPTH 16

/*
 * From the file up, then from the root down to it. Places in chain come from the number of the
 * step: from 6.7 on the verifier follows a step until it finds nothing new, and a count of its own
 * would be new each time.
 */
struct route {
	struct tells_walk walk;
	__u32 rule;
	__u64 dentry;
	__u64 magic;
	__u64 cgroup; /* the Bench's, by its id */
	__u64 pid;    /* struct pid of the process that all from dentry on is about */
	__u32 depth;
	__u32 above; /* of what has been reached on the way down, the file is so far away */
	__u64 chain[KERNFS_DEPTH]; /* without the root */
};

static long climb_step(__u32 i, struct route *route)
{
	const struct dentry *dentry = (const void *)route->dentry;
	const struct inode *inode = BPF_CORE_READ(dentry, d_inode);
	__u64 parent = (__u64)BPF_CORE_READ(dentry, d_parent);

	if (route->magic == PROC_SUPER_MAGIC) {
		route->pid = pid_of(inode);
		if (route->pid)
			return 1;
	} else if (route->magic == CGROUP2_SUPER_MAGIC &&
		   BPF_CORE_READ(inode, i_ino) == route->cgroup) {
		route->rule = BM_RULE_NONE;
		return 1;
	}
	if (parent == route->dentry) {
		if (route->magic != CGROUP2_SUPER_MAGIC && is_root(inode, route->dentry))
			route->rule = BM_RULE_NONE;
		return 1;
	}
	if (i >= KERNFS_DEPTH)
		return 1;
	route->chain[i] = route->dentry;
	route->depth = i + 1;
	route->dentry = parent;
	return 0;
}

static __always_inline bool read_name(struct route *route, __u64 of)
{
	const struct dentry *dentry = (const void *)of;
	char *name = route->walk.key.name;

	__builtin_memset(name, 0, BM_TELLS_NAME);
	/* The whole room read means that there may be more. */
	return bpf_probe_read_kernel_str(name, BM_TELLS_NAME, BPF_CORE_READ(dentry, d_name.name)) <
	       BM_TELLS_NAME;
}

static long descend_step(__u32 i, struct route *route)
{
	__u32 at = route->depth - 1 - i;

	route->rule = BM_RULE_TELLS;
	if (at >= KERNFS_DEPTH || !read_name(route, route->chain[at]) || !tells_step(&route->walk))
		return 1;
	route->above = at;
	route->rule = BM_RULE_NONE;
	return route->walk.below;
}

static __always_inline __u32 rule_below(struct route *route)
{
	struct bm_tells *found;

	if (!route->above)
		return BM_RULE_NONE;
	if (!read_name(route, route->chain[0]))
		return BM_RULE_TELLS;
	found = bpf_map_lookup_elem(&tells, &route->walk.key);
	return found && found->kind == BM_TELLS_NEVER ? BM_RULE_TELLS : BM_RULE_NONE;
}

static __always_inline bool in_host_net(void)
{
	const struct task_struct___proc *task = (const void *)bpf_get_current_task();

	return BPF_CORE_READ(task, nsproxy, net_ns, ns.inum) == config.host_net;
}

static __always_inline __u32 rule_of_process(struct route *route, __u32 bench, __u32 wanted)
{
	const struct pid *pid = (const void *)route->pid;
	__u64 task = (__u64)BPF_CORE_READ(pid, tasks[0].first);
	__u32 rule;

	if (task)
		task -= bpf_core_field_offset(struct task_struct___proc, pid_links);
	rule = member_rule(task, route->cgroup, bench);
	if (rule != BM_RULE_NONE)
		return rule;
	/* What is of no process below one that is: its network namespace, /proc/PID/net. To be
	 * read, and with KERNFS_NO_NET not that.
	 */
	if (route->depth && (wanted & ~BM_R || in_host_net()))
		return BM_RULE_TELLS;
	return BM_RULE_NONE;
}

static __always_inline __u64 cgroup_asked_about(void)
{
	__u32 zero = 0;
	struct bm_asked *question = bpf_map_lookup_elem(&asked, &zero);

	return question ? question->cgroup : 0;
}

int kernfs_rule(__u64 dentry, __u64 magic, __u32 bench, __u32 level, __u32 wanted)
{
	struct route route = { .rule = BM_RULE_TELLS, .dentry = dentry, .magic = magic };

	route.cgroup = wanted & KERNFS_ASKED ? cgroup_asked_about()
					     : bpf_get_current_ancestor_cgroup_id(level);
	wanted &= ~KERNFS_ASKED;
	bpf_loop(KERNFS_DEPTH + 1, climb_step, &route, 0);
	if (route.pid)
		return rule_of_process(&route, bench, wanted);
	if (route.rule == BM_RULE_NONE && magic != CGROUP2_SUPER_MAGIC) {
		route.walk.key.parent = magic == PROC_SUPER_MAGIC ? BM_TELLS_PROC : BM_TELLS_SYSFS;
		bpf_loop(route.depth, descend_step, &route, 0);
		if (route.rule == BM_RULE_NONE && route.walk.below)
			route.rule = rule_below(&route);
	}
	if (route.rule == BM_RULE_NONE && wanted & (BM_W | BM_X))
		return BM_RULE_TELLS;
	return route.rule;
}

char LICENSE[] SEC("license") = "GPL";
