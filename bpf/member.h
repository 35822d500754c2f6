/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task is to a Bench, where a program has no more than its address: who.h asks the task's
 * storage, which takes a pointer that the verifier knows, and is no helper of cgroup programs.
 */
#ifndef BENCHMON_BPF_MEMBER_H
#define BENCHMON_BPF_MEMBER_H

#include "kernel.h"

/* member.bpf.c. BM_RULE_NONE: in the cgroup or below it, and no arrival. */
int member_rule(__u64 task, __u64 cgroup, __u32 bench);
/* True for an arrival of this Bench. */
int member_arrives(__u64 task, __u32 bench);

#endif
