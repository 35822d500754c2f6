// SPDX-License-Identifier: GPL-2.0-only
#include "bench/door.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "base/step.h"
#include "bench/relocate.h"
#include "confine/confine.h"

#define CLIENT "benchmon"
/* Beside the directories, whose names are numbers. */
#define MASTER "client"
#define FRESH "client-new"
#define CLIENT_MAX (16u << 20)
/* Who waits there is served one after another. */
#define BACKLOG 8

struct path {
	char text[64];
};

static struct path path_of(uint32_t bench, const char *name)
{
	struct path path;

	snprintf(path.text, sizeof(path.text), BM_DOORS "/%u%s%s", bench, *name ? "/" : "", name);
	return path;
}

static int copy(int from, const char *path, struct bm_error *err)
{
	autoclose to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	autofree char *data = NULL;
	size_t size = 0;
	int r = to < 0 ? -errno : bm_read_fd(from, CLIENT_MAX, &data, &size);

	if (r == 0)
		r = bm_write_all(to, data, size);
	if (r == 0 && fchmod(to, 0555) < 0)
		r = -errno;
	return r < 0 ? bm_fail_errno(err, -r, "%s", path) : 0;
}

int bm_door_client(struct bm_error *err)
{
	char path[PATH_MAX], *slash;
	autoclose from = -1;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	int r;

	if (n < 0)
		return bm_fail_errno(err, errno, "/proc/self/exe");
	path[n] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash, 32, "/benchmon-ask");
	if (mkdir(BM_DOORS, 0700) < 0 && errno != EEXIST)
		return bm_fail_errno(err, errno, BM_DOORS);
	/* One of an earlier version must not be taken for ours. */
	unlink(BM_DOORS "/" MASTER);
	unlink(BM_DOORS "/" FRESH);
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return bm_fail(err, errno, NULL, "install it beside gatekeeperd", "%s: %s", path,
			       strerror(errno));
	r = copy(from, BM_DOORS "/" FRESH, err);
	STEP(DOOR_CLIENT_COPIED);
	if (r < 0)
		return r;
	if (rename(BM_DOORS "/" FRESH, BM_DOORS "/" MASTER) < 0)
		return bm_fail_errno(err, errno, BM_DOORS "/" MASTER);
	STEP(DOOR_CLIENT_NAMED);
	return 0;
}

/* One inode for all of them: a thousand Benches have one copy in memory. */
static int link_client(uint32_t bench, struct bm_error *err)
{
	struct path fresh = path_of(bench, "new"), client = path_of(bench, CLIENT);

	unlink(fresh.text);
	if (linkat(AT_FDCWD, BM_DOORS "/" MASTER, AT_FDCWD, fresh.text, 0) < 0)
		return bm_fail_errno(err, errno, "%s", fresh.text);
	STEP(DOOR_LINK_FRESH);
	if (rename(fresh.text, client.text) < 0)
		return bm_fail_errno(err, errno, "%s", client.text);
	/* Where both names were of one inode, that did nothing. */
	unlink(fresh.text);
	return 0;
}

/*
 * By a path that says nothing: who is connected can ask for its peer's name. Everybody in the Bench
 * may ask, whoever it is there.
 */
static int bind_socket(uint32_t bench, int *ret_socket, struct bm_error *err)
{
	struct path path = path_of(bench, BM_DOOR_SOCKET), parent = path_of(bench, "");
	autoclose dir = open(parent.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (fd < 0 || dir < 0)
		return bm_fail_errno(err, errno, "%s", path.text);
	unlink(path.text);
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" BM_DOOR_SOCKET,
		 dir);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(path.text, 0666) < 0)
		return bm_fail_errno(err, errno, "%s", path.text);
	*ret_socket = TAKE_FD(fd);
	return 0;
}

int bm_door_make(uint32_t bench, int *ret_socket, struct bm_error *err)
{
	struct path dir = path_of(bench, "");
	int r;

	if (mkdir(dir.text, 0555) < 0 && errno != EEXIST)
		return bm_fail_errno(err, errno, "%s", dir.text);
	if (chmod(dir.text, 0555) < 0)
		return bm_fail_errno(err, errno, "%s", dir.text);
	STEP(DOOR_DIRECTORY);
	r = link_client(bench, err);
	STEP(DOOR_LINKED);
	if (r == 0)
		r = bind_socket(bench, ret_socket, err);
	STEP(DOOR_BOUND);
	return r;
}

bool bm_door_there(uint32_t bench)
{
	return access(path_of(bench, "").text, F_OK) == 0;
}

struct listen_args {
	const int *sockets;
	size_t count;
};

static int listen_all(void *arg, int *ret_fd, struct bm_error *err)
{
	const struct listen_args *a = arg;
	int r = bm_confine(BM_CONFINE_LISTEN, err);

	(void)ret_fd;
	for (size_t i = 0; r == 0 && i < a->count; i++)
		if (listen(a->sockets[i], BACKLOG) < 0)
			r = bm_fail_errno(err, errno, "listen at a door");
	return r;
}

int bm_door_listen(const int *sockets, size_t count, struct bm_error *err)
{
	struct listen_args args = { sockets, count };

	return count ? bm_helper(listen_all, &args, NULL, err) : 0;
}

/* The daemon's /run may be noexec: that is not said of what is ours. */
static int clone_tree(const char *path, int *ret_tree, struct bm_error *err)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		.attr_clr = MOUNT_ATTR_NOEXEC,
		.propagation = MS_PRIVATE,
	};
	autoclose tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return bm_fail_errno(err, errno, "clone the mount of %s", path);
	*ret_tree = TAKE_FD(tree);
	return 0;
}

int bm_door_mount(uint32_t bench, const struct bm_target *target, const struct bm_own_list *own,
		  int *ret_dir, struct bm_error *err)
{
	struct path path = path_of(bench, "");
	autofree uint64_t *ids = calloc(own->count + 1, sizeof(*ids));
	autoclose tree = -1, dir = open(path.text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct bm_error first = {};
	size_t count = 0;
	int r;

	if (!ids)
		return -ENOMEM;
	if (dir < 0)
		return bm_fail_errno(err, errno, "%s", path.text);
	for (size_t i = 0; i < own->count; i++) {
		const struct bm_own *o = &own->list[i];
		struct statx stx;

		if ((!strcmp(o->what, "rootfs") || !strcmp(o->what, "private tmpfs")) &&
		    statx(o->fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) == 0)
			ids[count++] = stx.stx_mnt_id;
	}
	r = clone_tree(path.text, &tree, err);
	if (r == 0)
		r = bm_mount_place_on(target, tree, BM_DOOR_PLACE, ids, count, false, &first);
	if (r == -EEXIST)
		r = bm_mount_place_on(target, tree, BM_DOOR_PLACE, ids, count, true, err);
	else if (r < 0 && first.code && err && !err->code)
		*err = first;
	if (r == 0)
		*ret_dir = TAKE_FD(dir);
	return r;
}

int bm_door_unmount(uint32_t bench, const struct bm_target *target, struct bm_error *err)
{
	struct stat st;

	if (stat(path_of(bench, "").text, &st) < 0)
		return errno == ENOENT ? 0 : bm_fail_errno(err, errno, "door of Bench %u", bench);
	return bm_mount_take(target, BM_DOOR_PLACE, st.st_dev, st.st_ino, err);
}

int bm_door_remove(uint32_t bench, struct bm_error *err)
{
	static const char *const names[] = { BM_DOOR_SOCKET, CLIENT, "new" };
	struct path dir = path_of(bench, "");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path_of(bench, names[i]).text);
	STEP(DOOR_EMPTIED);
	return rmdir(dir.text) < 0 && errno != ENOENT ? bm_fail_errno(err, errno, "%s", dir.text)
						      : 0;
}

int bm_doors_sweep(bool (*keep)(void *ctx, uint32_t bench), void *ctx, struct bm_error *err)
{
	autoclosedir DIR *dir = opendir(BM_DOORS);
	struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir))) {
		char *end;
		unsigned long bench = strtoul(entry->d_name, &end, 10);

		if (!*end && bench <= UINT32_MAX && !keep(ctx, (uint32_t)bench))
			r = bm_door_remove((uint32_t)bench, err);
	}
	return r;
}
