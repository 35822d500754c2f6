/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel side from user space: programs, links and maps, loaded once and pinned below
 * /sys/fs/bpf/benchmon, so that they hold without any process. Nothing else touches a map.
 */
#ifndef BENCHMON_KERNEL_H
#define BENCHMON_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "base/error.h"

#define BM_BPFFS "/sys/fs/bpf"
#define BM_PIN_DIR BM_BPFFS "/benchmon"

struct bm_kernel;

/*
 * Adopts what is pinned, or loads, attaches and pins all of it: complete or not at all (it is
 * made beside and renamed into place). What is of another build is replaced, with no moment that is
 * not enforced. -ESTALE: a pin is missing or not what was loaded. -EPROTO: of another ABI; it
 * enforces.
 */
int bm_kernel_open(struct bm_kernel **ret, struct bm_error *err);
/* Lets go of the fds; what is pinned stays in force. Accepts NULL. */
void bm_kernel_close(struct bm_kernel *kernel);
static inline void bm_kernel_closep(struct bm_kernel **kernel)
{
	bm_kernel_close(*kernel);
}
/*
 * Removes every pin; -EBUSY while a Bench is in the tables, unless force says that no task of any
 * is left. 0 also when nothing was pinned.
 */
int bm_kernel_unload(bool force, struct bm_error *err);

/* Objects. fd may be O_PATH. Marks its inode, or finds the mark it has. */
int bm_object_mark(struct bm_kernel *kernel, int fd, uint64_t *ret_object, struct bm_error *err);
/* -ENOENT: no object. */
int bm_object_get(struct bm_kernel *kernel, int fd, uint64_t *ret_object);

/* -ENOSPC where so many more don't fit: known once the tables have been pruned. */
int bm_grants_room(const struct bm_kernel *kernel, size_t more, struct bm_error *err);

/* Grants and the sealed set. Adding is one update, the last step of a grant; so is removing. */
int bm_grant_put(struct bm_kernel *kernel, uint32_t bench, uint64_t object,
		 const struct bm_grant *grant, struct bm_error *err);
/* What stands there now; -ENOENT. */
int bm_grant_get(struct bm_kernel *kernel, uint32_t bench, uint64_t object, struct bm_grant *ret);
/* 0 also when it was not there. */
int bm_grant_drop(struct bm_kernel *kernel, uint32_t bench, uint64_t object);
/*
 * The Bench has objects within objects, or excepted names: from now on the nearest decides. Before
 * the first entry that restricts; it stays so for the Bench's life.
 */
int bm_bench_nest(struct bm_kernel *kernel, uint64_t cgroup_id, struct bm_error *err);
/* A name (of at most BM_EXCEPT_NAME_MAX bytes) in the directory that is object. */
int bm_except_put(struct bm_kernel *kernel, uint32_t bench, uint64_t object, const char *name,
		  const struct bm_except *except, struct bm_error *err);
/* 0 also when it was not there. */
int bm_except_drop(struct bm_kernel *kernel, uint32_t bench, uint64_t object, const char *name);
/* -ENOENT. */
int bm_except_get(struct bm_kernel *kernel, uint32_t bench, uint64_t object, const char *name,
		  struct bm_except *ret);
int bm_dest_put(struct bm_kernel *kernel, const struct bm_dest_key *key, const struct bm_dest *dest,
		struct bm_error *err);
/* From now on nothing passes but resets of connections that are being ended; and then not those
 * either. Both are 0 also when it was not there. */
int bm_dest_close(struct bm_kernel *kernel, const struct bm_dest_key *key);
int bm_dest_drop(struct bm_kernel *kernel, const struct bm_dest_key *key);
/* And is not closed. */
bool bm_dest_there(struct bm_kernel *kernel, const struct bm_dest_key *key);

/*
 * Whether packets of the Bench are looked up by its own ports too: before the first entry of that
 * side, and not after the last. Without it they are not found.
 */
int bm_bench_listens(struct bm_kernel *kernel, uint64_t cgroup_id, bool listens,
		     struct bm_error *err);

/*
 * What a Bench ever had, as the programs have it (enum bm_ever). It is claimed before the entry
 * that gives it: -EPERM, rule never-both, where it had the other. bm_ever_add() is for what is
 * known of it from elsewhere: both are neither, for good. -ENOENT: no such Bench.
 */
int bm_ever_get(struct bm_kernel *kernel, uint64_t cgroup_id, uint32_t *ret);
/* Bytes of the IP packets that have left its network. */
int bm_sent_get(struct bm_kernel *kernel, uint64_t cgroup_id, uint64_t *ret);
int bm_ever_claim(struct bm_kernel *kernel, uint64_t cgroup_id, enum bm_ever what,
		  struct bm_error *err);
int bm_ever_add(struct bm_kernel *kernel, uint64_t cgroup_id, uint32_t ever);

/*
 * Drops each entry of the Bench (0: of every Bench) for which keep says false; keep NULL drops
 * all of them, one of its functions NULL none of its kind. What adoption and the end of a Bench are
 * made of.
 */
struct bm_keep {
	bool (*grant)(void *ctx, const struct bm_grant_key *key, const struct bm_grant *grant);
	bool (*dest)(void *ctx, const struct bm_dest_key *key, const struct bm_dest *dest);
	bool (*except)(void *ctx, const struct bm_except_key *key, const struct bm_except *except);
	void *ctx;
};
int bm_tables_prune(struct bm_kernel *kernel, uint32_t bench, const struct bm_keep *keep,
		    size_t *ret_dropped);

/*
 * The hooks that descriptors, working directories and sockets meet whose grant is gone. Hot for
 * everybody on the machine, so attached only while needed; pinned, so that they stay without the
 * daemon. On failure some may be attached. Both are 0 also when there was nothing to do.
 */
int bm_recall_attach(struct bm_kernel *kernel, struct bm_error *err);
int bm_recall_detach(struct bm_kernel *kernel, struct bm_error *err);
/* True when any is attached. */
bool bm_recall_attached(struct bm_kernel *kernel);

/*
 * From now on what the Bench does not find is told as events: for each begin an end. -EOPNOTSUPP:
 * this kernel can't; -EBUSY: there are too many. An end of Bench 0 only looks whether there is
 * anybody.
 */
int bm_seek_begin(struct bm_kernel *kernel, uint32_t bench, struct bm_error *err);
void bm_seek_end(struct bm_kernel *kernel, uint32_t bench);
/* At a start: who had asked has gone with the daemon that it asked, and the links with it. */
void bm_seek_forget(struct bm_kernel *kernel);

/*
 * How many descriptors of the Bench's tasks are sockets in which something lies from what it may
 * not reach any more: those that the hooks refuse. A task that runs may hide one meanwhile.
 */
int bm_queued_count(struct bm_kernel *kernel, uint32_t bench, size_t *ret_count,
		    struct bm_error *err);

/*
 * -EBUSY, with the reason, when a process of the Bench has a socket that no wall would meet again:
 * of a family that a Bench may not have, or for the network and made outside of its cgroup.
 */
int bm_strangers_check(struct bm_kernel *kernel, uint32_t bench, struct bm_error *err);

/*
 * Adds to a list on the heap, which stays the caller's, the ids of the cgroups that the Bench's
 * sockets are of: among them those that were removed. Each is there once.
 */
int bm_socket_cgroups(struct bm_kernel *kernel, uint32_t bench, uint64_t **list, size_t *count,
		      struct bm_error *err);

/*
 * The socket at which the broker of that grant listens: what the Bench reaches at an endpoint's
 * address, and nobody else's. The mark goes with the socket.
 */
int bm_endpoint_mark(struct bm_kernel *kernel, int fd, uint32_t bench, uint32_t grant,
		     struct bm_error *err);

/* A file that the runtime or the operator gave a process of the Bench; device as st_dev. */
int bm_carried_put(struct bm_kernel *kernel, uint32_t bench, uint64_t device, uint64_t inode);
bool bm_carried(struct bm_kernel *kernel, uint32_t bench, uint64_t device, uint64_t inode);

/* The listening socket is the Bench's door: it alone of what is outside may be connected to. */
int bm_door_mark(struct bm_kernel *kernel, uint32_t bench, int socket, struct bm_error *err);

/*
 * Where the ledger ends, kept in the kernel for as long as the programs are. bm_pinned_end_get()
 * needs no struct bm_kernel: -ENOENT where nothing is pinned, n 0 where nothing was put.
 */
int bm_ledger_end_put(struct bm_kernel *kernel, const struct bm_ledger_end *end);
int bm_pinned_end_get(struct bm_ledger_end *ret);
/* 0 also where nothing is pinned. */
int bm_pinned_end_put(const struct bm_ledger_end *end);

/* Waits until no program that began before the call still runs: a removed entry may be in use. */
int bm_kernel_settle(void);

/*
 * Makes the cgroup (fd, id, level) Bench `bench`: cgroup programs attached and pinned, counters
 * made, and the entry that turns enforcement on last, with flags (enum bm_bench_flags)
 * and the inode number of its user namespace. -EEXIST: it
 * is one already; -E2BIG: no room or too many different levels; -EOPNOTSUPP: not on this kernel.
 * On failure nothing of it is left.
 */
int bm_bench_enter(struct bm_kernel *kernel, uint32_t bench, int cgroup, uint64_t cgroup_id,
		   uint32_t level, uint32_t flags, uint32_t userns, struct bm_error *err);
/* Takes the Bench out of every table, and its pins away. 0 also when it is not there. */
int bm_bench_leave(struct bm_kernel *kernel, uint32_t bench, struct bm_stats *ret_last,
		   struct bm_error *err);
/* 0 when the cgroup is in the table, as strict as flags, and every cgroup program is still
 * attached. */
int bm_bench_check(struct bm_kernel *kernel, uint32_t bench, uint64_t cgroup_id, uint32_t flags,
		   struct bm_error *err);
/* Whether a cgroup program of it ("connect4") still has its pin: less than the above, and can be
 * asked at any time. */
bool bm_bench_pinned(uint32_t bench, const char *program);
/* What the kernel's table says of it; -ENOENT. */
int bm_bench_get(struct bm_kernel *kernel, uint64_t cgroup_id, struct bm_bench *ret);
int bm_stats_get(struct bm_kernel *kernel, uint32_t bench, struct bm_stats *ret);

/*
 * Marks the task of pidfd (a thread group's leader) an arrival: for the init of a container that
 * is created and not started, which entered its cgroup before there was a Bench.
 */
int bm_arrival_mark(struct bm_kernel *kernel, uint32_t bench, int pidfd, struct bm_error *err);
/* True for a thread group's leader that has not executed the payload yet. */
bool bm_arrives(struct bm_kernel *kernel, uint32_t bench, int pidfd);

/*
 * Why: what the programs' own functions say of a file or a destination, over the tables as they
 * are. Between the two calls somebody passes the cookie to bm_ask(): with a descriptor of the file
 * (O_PATH is enough), or any where it is about a destination. Nothing changes by it. question has
 * the Bench's cgroup, and what is wanted or where to. bm_ask_end() is due in any case; its answer
 * -ENODATA: nobody asked.
 */
int bm_ask_begin(struct bm_kernel *kernel, struct bm_asked *question, int *ret_link,
		 struct bm_error *err);
void bm_ask(int fd, uint64_t cookie);
int bm_ask_end(struct bm_kernel *kernel, int link, struct bm_asked *ret, struct bm_error *err);

/* Events: readable when there are some; fn is called for each with the record as it came. */
int bm_events_open(struct bm_kernel *kernel, void (*fn)(void *ctx, const void *record, size_t size),
		   void *ctx, struct bm_error *err);
int bm_events_fd(struct bm_kernel *kernel);
int bm_events_consume(struct bm_kernel *kernel);

#endif
