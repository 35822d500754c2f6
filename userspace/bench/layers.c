// SPDX-License-Identifier: GPL-2.0-only
#include "bench/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "bench/mounts.h"
#include "bench/relocate.h"
#include "confine/confine.h"

#define RULE "image"
/* What the kernel tells of a mount's options is a page at most. */
#define OPTIONS_MAX 8192

void bm_layers_done(struct bm_layers *layers)
{
	for (size_t i = 0; i < layers->count; i++)
		bm_close(layers->tree[i]);
	layers->count = 0;
}

struct clone_layer {
	const char *path;
	int mnt;
};

/* By its path where the image was mounted: there is no other way to a layer. */
static int clone_layer(void *arg, int *ret_fd, struct bm_error *err)
{
	struct clone_layer *a = arg;
	int tree, r = bm_confine(BM_CONFINE_LOOK, err);

	if (r < 0)
		return r;
	if (setns(a->mnt, CLONE_NEWNS) < 0)
		return bm_fail_errno(err, errno, "enter the caller's mount namespace");
	tree = open_tree(AT_FDCWD, a->path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return bm_fail_errno(err, errno, "layer %.200s of the image", a->path);
	*ret_fd = tree;
	return 0;
}

static int add(struct bm_layers *layers, const char *path, int mnt, struct bm_error *err)
{
	struct clone_layer args = { path, mnt };

	if (*path != '/')
		return bm_fail(err, EOPNOTSUPP, RULE, "copy it to a directory, and give that",
			       "the image has a layer that is no absolute path");
	if (layers->count == BM_LAYERS_MAX)
		return bm_fail(err, E2BIG, RULE, "squash it, or copy it to a directory",
			       "the image has more than %d layers", BM_LAYERS_MAX);
	return bm_helper(clone_layer, &args, &layers->tree[layers->count++], err);
}

/* As root has mounted them: not the word of somebody who could only have named them. */
static int clone_all(const char *options, pid_t peer, struct bm_layers *layers,
		     struct bm_error *err)
{
	char buf[OPTIONS_MAX], path[64], *rest = buf, *layer;
	autoclose mnt = -1;
	int r = 0;

	if (bm_mount_option(options, "upperdir", buf, sizeof(buf)))
		return bm_fail(err, EBUSY, RULE, "give the image and not a container of it",
			       "the root file system is an overlay that is being written to");
	if (!bm_mount_option(options, "lowerdir", buf, sizeof(buf)))
		return bm_fail(err, EOPNOTSUPP, RULE, "copy it to a directory, and give that",
			       "the layers of the image can't be read from its mount options");
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", peer);
	mnt = open(path, O_RDONLY | O_CLOEXEC);
	if (mnt < 0)
		return bm_fail_errno(err, errno, "%s", path);
	while (r == 0 && (layer = bm_mount_layer(&rest)))
		r = add(layers, layer, mnt, err);
	return r;
}

/* Its mount, of which it has to be the root: layers are whole trees. */
static int clone_overlay(int rootfs, pid_t peer, struct bm_layers *layers, struct bm_error *err)
{
	automounts mounts = {};
	const struct bm_mount *m;
	struct statx stx;
	int r;

	if (statx(rootfs, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return bm_fail_errno(err, errno, "root file system");
	r = bm_mounts_read(peer, &mounts, err);
	if (r < 0)
		return r;
	m = bm_mount_find(&mounts, stx.stx_mnt_id);
	if (!m || strcmp(m->root, "/") || !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return bm_fail(err, EOPNOTSUPP, RULE, "copy it to ext4, xfs or btrfs",
			       "the root file system is part of an overlay and not all of it");
	return clone_all(m->options, peer, layers, err);
}

int bm_layers_clone(int rootfs, pid_t peer, bool root, struct bm_layers *ret, struct bm_error *err)
{
	autolayers layers = {};
	struct statfs fs;
	int r;

	if (fstatfs(rootfs, &fs) < 0)
		return bm_fail_errno(err, errno, "root file system");
	if (fs.f_type == OVERLAYFS_SUPER_MAGIC && !root)
		return bm_fail(err, EPERM, RULE, "copy it to a directory, or ask root",
			       "only root's images are taken apart into their layers");
	if (fs.f_type == OVERLAYFS_SUPER_MAGIC)
		r = clone_overlay(rootfs, peer, &layers, err);
	else
		r = bm_mount_clone(rootfs, peer, &layers.tree[layers.count++], err);
	if (r < 0) {
		/* The last one is none. */
		layers.count -= layers.count > 0;
		return r;
	}
	*ret = layers;
	layers.count = 0;
	return 0;
}
