// SPDX-License-Identifier: GPL-2.0-only
#include "bench/box.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"
#include "bench/bundle.h"
#include "bench/cgroup.h"
#include "bench/container.h"
#include "bench/disk.h"
#include "bench/door.h"
#include "bench/launcher.h"
#include "bench/layers.h"
#include "bench/relocate.h"
#include "bench/userns.h"

#define PATH_LEN 256
#define REMOVE_TIMEOUT_MS 120000

struct paths {
	char run[PATH_LEN], rootfs[PATH_LEN], lower[PATH_LEN];
	char state[PATH_LEN], disk[PATH_LEN], data[PATH_LEN];
	char upper[PATH_LEN], work[PATH_LEN], scratch[PATH_LEN];
	char cgroup[PATH_LEN];
};

static struct paths paths_of(const char *name)
{
	struct paths p;

	snprintf(p.run, PATH_LEN, BM_BOX_RUN "/%s", name);
	snprintf(p.rootfs, PATH_LEN, BM_BOX_RUN "/%s/rootfs", name);
	snprintf(p.lower, PATH_LEN, BM_BOX_RUN "/%s/l", name);
	snprintf(p.state, PATH_LEN, BM_BOX_STATE "/%s", name);
	snprintf(p.disk, PATH_LEN, BM_BOX_STATE "/%s/disk", name);
	snprintf(p.data, PATH_LEN, BM_BOX_STATE "/%s/data", name);
	snprintf(p.upper, PATH_LEN, BM_BOX_STATE "/%s/data/upper", name);
	snprintf(p.work, PATH_LEN, BM_BOX_STATE "/%s/data/work", name);
	snprintf(p.scratch, PATH_LEN, BM_BOX_STATE "/%s/data/scratch", name);
	snprintf(p.cgroup, PATH_LEN, "/" BM_SLICE "/%s", name);
	return p;
}

static int make_dir(const char *path, mode_t mode, uint32_t owner, struct bm_error *err)
{
	/* The mode is for users of the Bench too: not what the daemon's umask leaves of it. */
	if (mkdir(path, mode) < 0 || chmod(path, mode) < 0 || chown(path, owner, owner) < 0)
		return bm_fail_errno(err, errno, "%s", path);
	return 0;
}

static int make_dirs(const struct paths *p, const struct bm_box *box, uint32_t base,
		     struct bm_error *err)
{
	struct stat st;
	int r;

	if (fstat(box->rootfs, &st) < 0)
		return bm_fail_errno(err, errno, "root file system");
	mkdir(BM_BOX_RUN, 0711);
	mkdir(BM_BOX_STATE, 0711);
	r = make_dir(p->run, 0711, 0, err);
	if (r == 0)
		r = make_dir(p->rootfs, 0711, 0, err);
	if (r == 0)
		r = make_dir(p->lower, 0711, 0, err);
	if (r == 0)
		r = make_dir(p->state, 0711, 0, err);
	if (r == 0)
		r = make_dir(p->data, 0711, 0, err);
	if (r == 0 && box->limits.disk)
		r = bm_disk_make(p->disk, box->limits.disk, p->data, err);
	/* The root directory of the overlay is the upper one's: same mode as the root file system.
	 */
	if (r == 0)
		r = make_dir(p->upper, st.st_mode & 01777, base, err);
	if (r == 0)
		r = make_dir(p->work, 0700, 0, err);
	if (r == 0)
		r = make_dir(p->scratch, 0755, base, err);
	return r;
}

/* One layer of the root file system as the Bench's users own it. */
static int mount_layer(int tree, const char *path, int map, struct bm_error *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY,
				   .userns_fd = (uint64_t)map };

	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return errno == EINVAL || errno == EPERM
			       ? bm_fail(err, EOPNOTSUPP, "idmap", "copy it to ext4, xfs or btrfs",
					 "the root file system lies where it can't be idmapped")
			       : bm_fail_errno(err, errno, "idmap the root file system");
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return bm_fail_errno(err, errno, "mount %s", path);
	return 0;
}

/* At lower/0, lower/1 ...; *ret_count of them. */
static int mount_lower(const struct paths *p, const struct bm_box *box, uint32_t base,
		       size_t *ret_count, struct bm_error *err)
{
	struct bm_id_map all = { 0, base, BM_ID_COUNT };
	struct bm_id_map uids = { box->uid, base, 1 }, gids = { box->gid, base, 1 };
	autolayers layers = {};
	autoclose map = -1;
	int r = bm_layers_clone(box->rootfs, box->peer, box->root, &layers, err);

	if (r == 0)
		r = bm_userns_make(box->root ? all : uids, box->root ? all : gids, &map, err);
	for (size_t i = 0; r == 0 && i < layers.count; i++) {
		char path[PATH_LEN + 24];

		snprintf(path, sizeof(path), "%s/%zu", p->lower, i);
		r = make_dir(path, 0711, 0, err);
		if (r == 0)
			r = mount_layer(layers.tree[i], path, map, err);
	}
	*ret_count = layers.count;
	return r;
}

/*
 * Who is not root has of a root file system their own ids alone. In a directory of somebody else's
 * overlayfs makes nothing: it would have to copy up an owner that it can't name. So the door gets
 * its place before there is an overlay, and the upper layer's directory is merged with what is
 * below.
 */
static int make_door_place(const struct paths *p, const struct bm_box *box, uint32_t base,
			   struct bm_error *err)
{
	static const char place[] = BM_DOOR_PLACE;
	int parent = (int)(strrchr(place, '/') - place), r;
	char path[PATH_LEN + 32];
	struct stat st = { .st_mode = S_IFDIR | 0755 };

	if (box->root)
		return 0;
	snprintf(path, sizeof(path), "%s/0%.*s", p->lower, parent, place);
	if (lstat(path, &st) < 0 && errno != ENOENT)
		return bm_fail_errno(err, errno, "%s", path);
	/* A link there leads elsewhere, and stays what it is. */
	if (!S_ISDIR(st.st_mode))
		return 0;
	snprintf(path, sizeof(path), "%s%.*s", p->upper, parent, place);
	r = make_dir(path, st.st_mode & 01777, base, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s%s", p->upper, place);
	return make_dir(path, 0755, base, err);
}

/* Over itself, so that what is bound from there has these flags whatever the runtime makes of it.
 */
static int mount_scratch(const struct paths *p, const struct bm_box *box, struct bm_error *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					       (box->image ? MOUNT_ATTR_NOEXEC : 0) };
	autoclose tree = open_tree(AT_FDCWD, p->scratch, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ||
	    move_mount(tree, "", AT_FDCWD, p->scratch, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return bm_fail_errno(err, errno, "mount %s", p->scratch);
	return 0;
}

static int copy_holder(const struct paths *p, struct bm_error *err)
{
	autoclose from = -1, to = -1;
	char path[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	struct stat st;

	if (n < 0)
		return bm_fail_errno(err, errno, "/proc/self/exe");
	path[n] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash, 32, "/benchmon-holder");
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) < 0)
		return bm_fail(err, errno, NULL, "install it beside gatekeeperd", "%s: %s", path,
			       strerror(errno));
	snprintf(path, sizeof(path), "%s/" BM_HOLDER_DIR, p->upper);
	if (mkdir(path, 0555) < 0 || chmod(path, 0555) < 0)
		return bm_fail_errno(err, errno, "%s", path);
	snprintf(path, sizeof(path), "%s/" BM_HOLDER, p->upper);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	if (to < 0 || fchmod(to, 0555) < 0)
		return bm_fail_errno(err, errno, "%s", path);
	while (st.st_size > 0) {
		n = copy_file_range(from, NULL, to, NULL, (size_t)st.st_size, 0);
		if (n <= 0)
			break;
		st.st_size -= n;
	}
	if (st.st_size > 0) {
		char buf[65536];

		while ((n = read(from, buf, sizeof(buf))) > 0)
			if (bm_write_all(to, buf, (size_t)n) < 0)
				return bm_fail_errno(err, errno, "%s", path);
		if (n < 0)
			return bm_fail_errno(err, errno, "copy the holder");
	}
	return 0;
}

static int mount_rootfs(const struct paths *p, size_t layers, struct bm_error *err)
{
	/* mount(2) takes a page of options. */
	char options[4096];
	size_t used = 0;

	for (size_t i = 0; i < layers && used < sizeof(options); i++)
		used += (size_t)snprintf(options + used, sizeof(options) - used, "%s%s/%zu",
					 i ? ":" : "lowerdir=", p->lower, i);
	if (used < sizeof(options))
		used += (size_t)snprintf(options + used, sizeof(options) - used,
					 ",upperdir=%s,workdir=%s", p->upper, p->work);
	if (used >= sizeof(options))
		return bm_fail(err, E2BIG, "image",
			       "take a shorter name for the Bench, or squash the image",
			       "%zu layers are more than one mount can name", layers);
	if (mount("benchmon", p->rootfs, "overlay", MS_NODEV, options) == 0)
		return 0;
	if (errno == EINVAL)
		return bm_fail(err, EINVAL, NULL,
			       "mount ext4, xfs, btrfs or tmpfs on /var/lib/benchmon",
			       "overlayfs can't keep its upper layer in %s", p->state);
	return bm_fail_errno(err, errno, "mount the overlay of %s", p->rootfs);
}

static int create(const struct paths *p, const struct bm_box *box, pid_t *ret_pid,
		  struct bm_error *err)
{
	uint32_t base = BM_ID_FIRST + box->slot * BM_ID_COUNT;
	struct bm_bundle bundle = {
		.name = box->name,
		.rootfs = p->rootfs,
		.scratch = p->scratch,
		.cgroup = p->cgroup,
		.id_base = base,
		.limits = box->limits,
		.image = box->image,
		.userns = box->userns,
	};
	autoclose dir = -1;
	size_t layers;
	int r;

	r = bm_cgroup_make_slice(BM_SLICE, err);
	if (r == 0)
		r = make_dirs(p, box, base, err);
	STEP(BOX_DIRECTORIES);
	if (r == 0)
		r = mount_lower(p, box, base, &layers, err);
	if (r == 0)
		r = make_door_place(p, box, base, err);
	STEP(BOX_LAYERS);
	if (r == 0)
		r = mount_scratch(p, box, err);
	STEP(BOX_SCRATCH);
	if (r == 0)
		r = copy_holder(p, err);
	STEP(BOX_HOLDER);
	if (r == 0)
		r = mount_rootfs(p, layers, err);
	STEP(BOX_ROOTFS);
	if (r < 0)
		return r;
	dir = open(p->run, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return bm_fail_errno(err, errno, "%s", p->run);
	r = bm_bundle_write(dir, &bundle, err);
	STEP(BOX_BUNDLE);
	return r < 0 ? r : bm_crun_create(box->name, p->run, ret_pid, err);
}

int bm_box_create(const struct bm_box *box, pid_t *ret_pid, struct bm_error *err)
{
	struct paths p = paths_of(box->name);
	int r = create(&p, box, ret_pid, err);

	if (r < 0)
		bm_box_destroy(box->name, NULL);
	return r;
}

int bm_box_start(const char *name, struct bm_error *err)
{
	return bm_crun_start(name, err);
}

/*
 * rm and not a walk of our own: what a Bench leaves may be nested deeper than a path can say, and
 * rm has met that.
 */
static int remove_tree(const char *path, struct bm_error *err)
{
	int status, r;

	if (access(path, F_OK) < 0)
		return 0;
	r = bm_launch_run(BM_LAUNCH_REMOVE, (const char *[]){ path, NULL }, REMOVE_TIMEOUT_MS,
			  &status, NULL, NULL);
	if (r < 0)
		return bm_fail_errno(err, -r, "remove %s", path);
	return status ? bm_fail(err, EIO, NULL, NULL, "remove %s: rm failed", path) : 0;
}

/* The name may be another's, which is not removed yet. */
static int put_aside(const char *name, const char *path, struct bm_error *err)
{
	char to[PATH_LEN];

	if (access(path, F_OK) < 0)
		return 0;
	snprintf(to, sizeof(to), BM_BOX_GONE "/%s.%llu", name,
		 (unsigned long long)bm_now_ns(CLOCK_REALTIME));
	if ((mkdir(BM_BOX_GONE, 0700) < 0 && errno != EEXIST) || rename(path, to) < 0)
		return remove_tree(path, err);
	return 0;
}

static int unmount(const char *path, struct bm_error *err)
{
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL && errno != ENOENT)
		return bm_fail_errno(err, errno, "unmount %s", path);
	return 0;
}

/* Those that there are: how many, nobody has written down. */
static int unmount_layers(const char *lower, struct bm_error *err)
{
	autoclosedir DIR *dir = opendir(lower);
	struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir))) {
		char path[PATH_LEN + 16];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%.8s", lower, entry->d_name);
		r = unmount(path, err);
	}
	return r;
}

int bm_box_destroy(const char *name, struct bm_error *err)
{
	struct paths p = paths_of(name);
	autocgroup cgroup = BM_CGROUP_NONE;
	int r = 0;

	if (bm_cgroup_open(p.cgroup, &cgroup, NULL) == 0)
		r = bm_cgroup_kill(&cgroup, err);
	STEP(UNBOX_KILLED);
	if (r == 0)
		r = bm_crun_delete(name, err);
	STEP(UNBOX_CRUN);
	if (r == 0)
		r = bm_cgroup_remove(p.cgroup, err);
	STEP(UNBOX_CGROUP);
	if (r == 0)
		r = unmount(p.rootfs, err);
	if (r == 0)
		r = unmount_layers(p.lower, err);
	STEP(UNBOX_LAYERS);
	if (r == 0)
		r = unmount(p.scratch, err);
	if (r == 0)
		r = unmount(p.data, err);
	STEP(UNBOX_UNMOUNTED);
	if (r == 0)
		r = remove_tree(p.run, err);
	STEP(UNBOX_RUN);
	if (r == 0)
		r = put_aside(name, p.state, err);
	STEP(UNBOX_STATE);
	return r;
}

bool bm_box_gone(char *ret_path, size_t size)
{
	autoclosedir DIR *dir = opendir(BM_BOX_GONE);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			return (size_t)snprintf(ret_path, size, BM_BOX_GONE "/%s", entry->d_name) <
			       size;
	rmdir(BM_BOX_GONE);
	return false;
}

int bm_box_remove_gone(struct bm_error *err)
{
	char path[PATH_LEN];
	int r = 0;

	while (r == 0 && bm_box_gone(path, sizeof(path)))
		r = remove_tree(path, err);
	return r;
}

static bool listed(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name))
		names++;
	return *names;
}

int bm_box_sweep(const char *const *names, struct bm_error *err)
{
	static const char *const places[] = { BM_BOX_RUN, BM_BOX_STATE };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		autoclosedir DIR *dir = opendir(places[i]);
		struct dirent *entry;

		while (dir && (entry = readdir(dir))) {
			int r;

			if (entry->d_name[0] == '.' || listed(names, entry->d_name))
				continue;
			r = bm_box_destroy(entry->d_name, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int bm_box_scratch(const char *name, int *ret_fd)
{
	struct paths p = paths_of(name);

	*ret_fd = open(p.scratch, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? -errno : 0;
}
