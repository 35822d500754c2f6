/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pins: a mark on an inode lasts as long as the inode is cached, and one that restricts must not be
 * lost to memory pressure when nobody is there to set it again. So each object is mounted once
 * more, in a mount namespace of the Bench's that nobody is in: BM_PIN_ROOT/ID holds it, on a mount
 * of pid 1's, so that it outlives the daemon. In pid 1's own there would be as many mounts as there
 * are grants on the machine, which whoever lists mounts or makes a namespace pays for.
 */
#ifndef BENCHMON_PIN_H
#define BENCHMON_PIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bench/mounts.h"

#define BM_PIN_ROOT "/run/benchmon/pins"

/*
 * source (may be O_PATH) was opened in the mount namespace of peer. 0 also when it is pinned. *ret,
 * if not NULL, are the Bench's pins then.
 */
int bm_pin(uint32_t bench, int source, pid_t peer, bool directory, uint64_t object,
	   struct bm_mounts *ret, struct bm_error *err);

/* The Bench's pins as they are now, by their paths; untouched where there are none. */
int bm_pins_read(uint32_t bench, struct bm_mounts *ret, struct bm_error *err);
/* And those of all Benches: what several are granted is there several times. */
int bm_pins_read_all(struct bm_mounts *ret, struct bm_error *err);
/* pin_list.c: from an fd of a mountinfo, in an order by which they are found. */
int bm_pins_parse(int mountinfo, struct bm_mounts *ret, struct bm_error *err);
/* NULL: it is not pinned. */
const struct bm_mount *bm_pin_find(const struct bm_mounts *pins, uint64_t object);
/* Whether there is one for which keep says false. */
bool bm_pins_beyond(const struct bm_mounts *pins, bool (*keep)(void *ctx, uint64_t object),
		    void *ctx);
/* Whether any of them lies in another one of them; true where that is not known. */
bool bm_pins_any_inside(const struct bm_mounts *pins, const uint64_t *objects, size_t count);
bool bm_pinned(const struct bm_mounts *pins, uint64_t object);

/*
 * *ret_fd (O_PATH, the caller's) is the object through its pin, *ret_superblock the device as
 * mountinfo has it. -ENOENT.
 */
int bm_pin_open(uint32_t bench, uint64_t object, uint64_t *ret_superblock, int *ret_fd);
/* The kind of its file system into buf, which asks nobody who may serve it. -ENOENT. */
int bm_pin_fstype(uint32_t bench, uint64_t object, char *buf, size_t size);

/*
 * Whether object lies below outer in their file system, wherever either is mounted and whatever has
 * been renamed since: the kernel says it of their pins. True also when one has no pin, so that
 * nobody can tell.
 */
bool bm_pins_inside(const struct bm_mounts *pins, uint64_t object, uint64_t outer);

/* In a mount namespace of one's own: lets go of its copy of their place. */
void bm_pins_forget(void);

/* Removes the Bench's pins for which keep says false. */
int bm_pins_sweep(uint32_t bench, bool (*keep)(void *ctx, uint64_t object), void *ctx,
		  struct bm_error *err);
/* Removes those of Benches for which keep says false. */
int bm_pins_only(bool (*keep)(void *ctx, uint64_t bench), void *ctx, struct bm_error *err);
/* Removes all of them, and their place. */
int bm_pins_end(struct bm_error *err);

#endif
