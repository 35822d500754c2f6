/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The door of a Bench: a directory of the host's with a client and a socket in it and nothing else,
 * mounted ro in the Bench, so that it can ask. Each Bench has one of its own.
 */
#ifndef BENCHMON_BENCH_DOOR_H
#define BENCHMON_BENCH_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bench/own.h"
#include "bench/target.h"

/* Root alone gets into it on the host. */
#define BM_DOORS "/run/benchmon/doors"
#define BM_DOOR_SOCKET "socket"
/* Where it is in a Bench. */
#define BM_DOOR_PLACE "/run/benchmon"

/* Copies the client to where it is linked from, once a start. -ENOENT: it is not installed. */
int bm_door_client(struct bm_error *err);

/*
 * Makes it, or what is missing of it, with a new socket that is bound and does not listen yet, so
 * that nobody gets in before it is marked. What there was of an earlier socket is gone.
 */
int bm_door_make(uint32_t bench, int *ret_socket, struct bm_error *err);
/* Whether there was one made. */
bool bm_door_there(uint32_t bench);
/*
 * Listens at them: a helper does, which is nobody and has ended, for that is whom who connects is
 * shown as its peer.
 */
int bm_door_listen(const int *sockets, size_t count, struct bm_error *err);

/*
 * Mounts it in target, ro, nosuid, nodev; own are the mounts that are the Bench's. *ret_dir
 * (O_PATH) is the directory.
 */
int bm_door_mount(uint32_t bench, const struct bm_target *target, const struct bm_own_list *own,
		  int *ret_dir, struct bm_error *err);
/* 0 also when it is not there. */
int bm_door_unmount(uint32_t bench, const struct bm_target *target, struct bm_error *err);

/* On the host; 0 also when there is none. */
int bm_door_remove(uint32_t bench, struct bm_error *err);
/* Those for which keep says false. */
int bm_doors_sweep(bool (*keep)(void *ctx, uint32_t bench), void *ctx, struct bm_error *err);

#endif
