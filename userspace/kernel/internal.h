/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of kernel/ share; nobody else includes it. */
#ifndef BENCHMON_KERNEL_INTERNAL_H
#define BENCHMON_KERNEL_INTERNAL_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "kernel/kernel.h"

/* The maps and cgroup programs that user space works with, by pin name. */
#define BM_MAPS(X)                                                                                 \
	X(benches)                                                                                 \
	X(objects)                                                                                 \
	X(grants)                                                                                  \
	X(excepts)                                                                                 \
	X(destinations)                                                                            \
	X(stats) X(events) X(tasks) X(cgroups) X(carried) X(tells) X(ledger) X(heard) X(doors)
#define BM_CGROUP_PROGRAMS(X)                                                                      \
	X(connect4, BPF_CGROUP_INET4_CONNECT)                                                      \
	X(connect6, BPF_CGROUP_INET6_CONNECT)                                                      \
	X(sendmsg4, BPF_CGROUP_UDP4_SENDMSG)                                                       \
	X(sendmsg6, BPF_CGROUP_UDP6_SENDMSG)                                                       \
	X(egress, BPF_CGROUP_INET_EGRESS)                                                          \
	X(ingress, BPF_CGROUP_INET_INGRESS)                                                        \
	X(socket, BPF_CGROUP_INET_SOCK_CREATE)                                                     \
	X(setsockopt, BPF_CGROUP_SETSOCKOPT)                                                       \
	X(device, BPF_CGROUP_DEVICE)                                                               \
	X(sysctl, BPF_CGROUP_SYSCTL)

enum {
#define X(name, type) BM_CGROUP_##name,
	BM_CGROUP_PROGRAMS(X)
#undef X
		BM_CGROUP_PROGRAM_MAX,
};

struct bm_cgroup_program {
	const char *name;
	enum bpf_attach_type type;
};
extern const struct bm_cgroup_program bm_cgroup_programs[BM_CGROUP_PROGRAM_MAX];

/* Programs that are attached only while a recall needs them; by pin name. */
#define BM_RECALL_PROGRAM_MAX 8
extern const char *const bm_recall_programs[BM_RECALL_PROGRAM_MAX];
bool bm_recall_program(const struct bpf_program *program);

struct bm_kernel {
	struct {
#define X(name) int name;
		BM_MAPS(X)
#undef X
	} map;
	int program[BM_CGROUP_PROGRAM_MAX];
	int recall[BM_RECALL_PROGRAM_MAX];
	int queued_list;                   /* an iterator */
	int strangers, socket_cgroups;     /* others */
	volatile struct bm_config *config; /* the programs' own memory, mapped */
	struct ring_buffer *ring;
	void (*event)(void *ctx, const void *record, size_t size);
	void *event_ctx;
};

/* Keeps what libbpf would print, for the error; returns what there is, trimmed. */
void bm_libbpf_capture(void);
const char *bm_libbpf_said(void);

/* Fills `tells`, for good. */
int bm_tells_fill(int map);

int bm_choose_programs(struct bpf_object *object);

/* Removes a tree of bpffs. 0 also when it is not there. */
int bm_unpin_tree(int parent, const char *name);

#endif
