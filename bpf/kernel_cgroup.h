/* SPDX-License-Identifier: GPL-2.0-only */
/* Part of kernel.h: what cgroups are made of. */
#ifndef BENCHMON_BPF_KERNEL_CGROUP_H
#define BENCHMON_BPF_KERNEL_CGROUP_H

struct kernfs_node {
	__u64 id;
} KERNEL;

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} KERNEL;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
} KERNEL;

struct css_set {
	struct cgroup *dfl_cgrp;
} KERNEL;

#endif
