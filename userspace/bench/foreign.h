/* SPDX-License-Identifier: GPL-2.0-only */
/* Foreign mounts: those of a container that are the host's, its volumes above all. */
#ifndef BENCHMON_FOREIGN_H
#define BENCHMON_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bench/mounts.h"
#include "bench/target.h"

struct bm_foreign {
	uint64_t id;
	uint64_t device; /* of its superblock */
	char *path;      /* its mount point */
	char *below;     /* a mount point below it, or NULL */
	char *source; /* where the host has mounted the same, as far as its mounts tell, or NULL */
	char fstype[32];
	mode_t mode; /* of its root */
	bool ro;
	bool covered; /* it could not be detached, and something empty lies on it now */
	int fd;       /* O_PATH of its root */
};

struct bm_foreign_list {
	struct bm_foreign *list;
	size_t count;
};

void bm_foreign_done(struct bm_foreign_list *foreign);
#define autoforeign __attribute__((cleanup(bm_foreign_done))) struct bm_foreign_list

/* Mount m of mounts, with what the host's mounts say of it. Takes over fd. */
int bm_foreign_add(struct bm_foreign_list *foreign, const struct bm_mount *m, mode_t mode,
		   const struct bm_mounts *mounts, const struct bm_mounts *host, int fd);
/* Empties from into to. */
int bm_foreign_move(struct bm_foreign_list *to, struct bm_foreign_list *from);

/* Where in the host the root of mount m is seen too, into buf; false where nowhere. */
bool bm_foreign_source(const struct bm_mount *m, const struct bm_mounts *host, char *buf,
		       size_t size);

/* The host's own mount namespace, also what was mounted there after this process left it. */
#define BM_HOST_VIEW "/proc/1/root"
/* The source in it, opened for reading (and writing), if it is what tree is the root of. */
int bm_foreign_open(const char *source, int tree, bool writable, int *ret_fd, struct bm_error *err);

/* A detached clone of it alone; its flags and its mapping of ids stay. */
int bm_foreign_clone(const struct bm_target *target, const struct bm_foreign *foreign,
		     int *ret_tree, struct bm_error *err);

/*
 * Detaches them, with what is mounted below them, from the mount namespace of target, whose tasks
 * must be frozen. What the kernel has locked where it is gets something empty mounted over it.
 */
int bm_foreign_detach(const struct bm_target *target, const struct bm_foreign_list *foreign,
		      struct bm_error *err);

#endif
