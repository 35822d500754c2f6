/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of kernel/ share; nobody else includes it. */
#ifndef BENCHMON_KERNEL_INTERNAL_H
#define BENCHMON_KERNEL_INTERNAL_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "kernel/kernel.h"

/* bpffs keeps names with a dot for itself: looking one up is EPERM. */
#define BM_PIN_NEW BM_BPFFS "/benchmon-new"
#define BM_STALE_REMEDY "`gatekeeperd --unload --force` ends every Bench and loads anew"
#define BM_OTHER_REMEDY                                                                            \
	"start the gatekeeperd that loaded them, end the Benches, and `gatekeeperd --unload`"

/* The maps and cgroup programs that user space works with, by pin name. */
#define BM_MAPS(X)                                                                                 \
	X(benches)                                                                                 \
	X(objects)                                                                                 \
	X(grants)                                                                                  \
	X(excepts)                                                                                 \
	X(destinations)                                                                            \
	X(stats)                                                                                   \
	X(events)                                                                                  \
	X(tasks)                                                                                   \
	X(cgroups) X(carried) X(tells) X(ledger) X(heard) X(doors) X(endpoints) X(uses) X(asked)
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

/* And while a client asks what is not found: by pin name. A kernel may lack the functions. */
#define BM_SEEK_PROGRAM_MAX 2
extern const char *const bm_seek_programs[BM_SEEK_PROGRAM_MAX];
bool bm_seek_program(const struct bpf_program *program);

struct bm_kernel {
	struct {
#define X(name) int name;
		BM_MAPS(X)
#undef X
	} map;
	int program[BM_CGROUP_PROGRAM_MAX];
	int recall[BM_RECALL_PROGRAM_MAX];
	int seek[BM_SEEK_PROGRAM_MAX];     /* their links, while there is somebody */
	int queued_list;                   /* an iterator */
	int strangers, socket_cgroups;     /* others */
	int why;                           /* attached while somebody asks */
	volatile struct bm_config *config; /* the programs' own memory, mapped */
	size_t grants;                     /* entries of that table, since it was pruned */
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

/* Loads all, attaches what is for good, and pins it at BM_PIN_DIR; what failed leaves nothing. */
int bm_load(struct bm_error *err);
struct benchmon;
/* Of an object that is loaded: hooks attached, everything pinned below BM_PIN_NEW, and `known`
 * filled. */
int bm_pin_all(struct benchmon *skel, struct bm_error *err);
/* Attached while somebody asks, and never pinned so. */
bool bm_why_program(const struct bpf_program *program);
/* Attached for good; an iterator is only ever read. */
bool bm_is_hook(const struct bpf_program *program);
/* Of the programs in this binary. */
uint64_t bm_build(void);

/* In a map `known`; pin as a path below BM_PIN_DIR. */
int bm_known_program(int known, const char *pin, int program);
int bm_known_map(int known, const char *pin, int map);
int bm_known_build(int known, uint64_t build);

/*
 * -ESTALE, with the pin and what is wrong with it, where one is missing or not what was loaded. In
 * the midst of a replacement what is to come is as good.
 */
int bm_known_check(struct bm_error *err);
/* The same of a link, whose path is given, to a program that is known as pin. */
int bm_known_check_link(const char *path, const char *pin, struct bpf_link_info *ret,
			struct bm_error *err);

/*
 * Where the pins are of another build: puts this one's programs in the place of theirs, with no
 * moment without, and keeps the maps. -EPROTO: they don't fit, and all stays as it was.
 */
int bm_upgrade(struct bm_error *err);
#define BM_KNOWN_NEXT BM_PIN_DIR "/maps/known_next"

#endif
