/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Own objects: the mounts of a container that are the Bench's own. Everything else in it is the
 * host's and needs a grant.
 */
#ifndef BENCHMON_OWN_H
#define BENCHMON_OWN_H

#include "base/error.h"
#include "bench/foreign.h"
#include "bench/mounts.h"
#include "bench/target.h"

struct bm_own {
	const char *what; /* "rootfs", "layer", "private tmpfs", "runtime file" ...; static */
	char path[256];   /* its mount point, for a layer its path on the host */
	uint32_t rights;  /* enum bm_rights */
	int fd;           /* O_PATH of the root of the mount */
};

struct bm_own_list {
	struct bm_own *list;
	size_t count;
};

void bm_own_done(struct bm_own_list *own);
#define autoown __attribute__((cleanup(bm_own_done))) struct bm_own_list

/* Takes over fd. */
int bm_own_add(struct bm_own_list *own, const char *what, const char *path, uint32_t rights,
	       int fd);

/* exec: image. Of what executes nothing is written, of what is written nothing executes. */
void bm_own_image(struct bm_own_list *own);

/* null, zero, full, random, urandom, tty: they hold nothing of the host. */
bool bm_device_harmless(dev_t rdev);

/* By what its mounts are told from others'. */
struct bm_own_place {
	/* Where its runtime's mounts are seen: BM_HOST_VIEW, or "" for what this process mounted.
	 */
	const char *view;
	const char *cgroup; /* path of the Bench's */
	bool host_pid;      /* its pid namespace is the host's */
	bool shared_ipc;    /* its IPC namespace is others' too */
};

/* What mount m is to a Bench: the reason and the rights, or NULL for a mount of the host.
 * host: the mounts of the host, to tell a private tmpfs from a shared one. */
const char *bm_own_classify(const struct bm_mount *m, mode_t mode, dev_t rdev,
			    const struct bm_mounts *host, const struct bm_own_place *place,
			    uint32_t *ret_rights);

/*
 * Classifies all mounts of target that a path leads to: its own, and (unless ret_foreign is NULL)
 * the others. The tasks in it must be frozen, or not run yet.
 */
int bm_own_collect(const struct bm_target *target, const struct bm_own_place *place,
		   struct bm_own_list *ret, struct bm_foreign_list *ret_foreign,
		   struct bm_error *err);

/*
 * Detaches what is not the container's own, and what then comes to light below it, until no path
 * leads to any: else not even rights could keep a Bench from asking what exists in it. From then on
 * no mount event of the host reaches the container, and none of it the host. *ret is what is left
 * to be its own; what was detached is added to gone, also on failure.
 */
int bm_own_clear(const struct bm_target *target, const struct bm_own_place *place,
		 struct bm_own_list *ret, struct bm_foreign_list *gone, struct bm_error *err);

#endif
