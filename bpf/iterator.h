/* SPDX-License-Identifier: GPL-2.0-only */
/* What a program is given that goes through the descriptors of all tasks. */
#ifndef BENCHMON_BPF_ITERATOR_H
#define BENCHMON_BPF_ITERATOR_H

#include "kernel.h"

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
} KERNEL;

#endif
