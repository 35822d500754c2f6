// SPDX-License-Identifier: GPL-2.0-only
#include "bench/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <sys/vfs.h>
#include <time.h>

#include <linux/magic.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"

#define WAIT_MS 10000
#define PROCS_MAX (1u << 20)

void bm_cgroup_close(struct bm_cgroup_ref *ref)
{
	bm_close(ref->fd);
	ref->fd = -1;
}

const char *bm_cgroup_root(void)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			return places[i];
	return NULL;
}

int bm_cgroup_of_pid(pid_t pid, char ret_path[BM_CGROUP_PATH], struct bm_error *err)
{
	autofree char *text = NULL;
	char file[64], *line;
	int r;

	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	r = bm_read_file(AT_FDCWD, file, 65536, &text, NULL);
	if (r == -ENOENT || r == -ESRCH)
		return bm_fail(err, ESRCH, NULL, NULL, "there is no process %d", pid);
	if (r < 0)
		return bm_fail_errno(err, -r, "%s", file);
	line = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::");
	if (line) {
		line = strchr(line, '/');
		*strchrnul(line, '\n') = '\0';
	}
	if (!line || !strcmp(line, "/"))
		return bm_fail(err, EXDEV, "cgroup-v2", "start the container in the v2 hierarchy",
			       "process %d has no cgroup v2 of its own", pid);
	if (snprintf(ret_path, BM_CGROUP_PATH, "%s", line) >= BM_CGROUP_PATH)
		return bm_fail_errno(err, ENAMETOOLONG, "cgroup of %d", pid);
	return 0;
}

/* The kernfs id: what the BPF helpers return, and the file handle of the directory. */
static int id_of(int fd, uint64_t *ret)
{
	union {
		struct file_handle handle;
		char space[sizeof(struct file_handle) + sizeof(uint64_t)];
	} h = { .handle.handle_bytes = sizeof(uint64_t) };
	int mount;

	if (name_to_handle_at(fd, "", &h.handle, &mount, AT_EMPTY_PATH) < 0)
		return -errno;
	memcpy(ret, h.handle.f_handle, sizeof(*ret));
	return 0;
}

/* Absolute, not the root, and no component that leads elsewhere than down. */
static bool plain_path(const char *path)
{
	if (path[0] != '/' || !path[1])
		return false;
	for (const char *p = path; p; p = strchr(p + 1, '/')) {
		size_t len = strcspn(p + 1, "/");

		/* An empty one makes the rest absolute; behind a last '/' there is none. */
		if (len ? len <= 2 && !strncmp(p + 1, "..", len) : p[1] == '/')
			return false;
	}
	return true;
}

int bm_cgroup_open(const char *path, struct bm_cgroup_ref *ret, struct bm_error *err)
{
	const char *root = bm_cgroup_root();
	autocgroup ref = BM_CGROUP_NONE;
	autoclose root_fd = -1;
	struct statfs fs;
	size_t len;
	int r;

	if (!root)
		return bm_fail(err, EXDEV, "cgroup-v2",
			       "boot with systemd.unified_cgroup_hierarchy=1",
			       "this host has cgroup v1 only");
	if (!strncmp(path, root, strlen(root)))
		path += strlen(root);
	if (!plain_path(path) || strlen(path) >= sizeof(ref.path))
		return bm_fail(err, EINVAL, "cgroup-v2", "give it as in /proc/PID/cgroup",
			       "\"%.100s\" is no path of a cgroup below the root", path);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return bm_fail_errno(err, errno, "%s", root);
	ref.fd = openat(root_fd, path + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ref.fd < 0)
		return bm_fail(err, errno, NULL, NULL, "cgroup %s: %s", path, strerror(errno));
	if (fstatfs(ref.fd, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return bm_fail(err, EXDEV, "cgroup-v2", NULL, "%s is not in the v2 hierarchy",
			       path);
	r = id_of(ref.fd, &ref.id);
	if (r < 0)
		return bm_fail_errno(err, -r, "cgroup %s: id", path);
	snprintf(ref.path, sizeof(ref.path), "%s", path);
	len = strlen(ref.path);
	while (len > 1 && ref.path[len - 1] == '/')
		ref.path[--len] = '\0';
	for (const char *p = ref.path; *p; p++)
		ref.level += *p == '/' && p[1] != '/';
	*ret = ref;
	ref.fd = -1;
	return 0;
}

int bm_cgroup_make_slice(const char *name, struct bm_error *err)
{
	static const char *const wanted[] = { "+memory", "+pids", "+cpu" };
	const char *root = bm_cgroup_root();
	char path[BM_CGROUP_PATH];

	if (!root)
		return bm_fail(err, EXDEV, "cgroup-v2", NULL, "this host has cgroup v1 only");
	snprintf(path, sizeof(path), "%s/%s", root, name);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return bm_fail_errno(err, errno, "%s", path);
	/* One by one: a controller that the host lacks must not take the others with it. */
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
		bm_write_file(AT_FDCWD, path, 0, 0, wanted[i]);
		snprintf(path, sizeof(path), "%s/%s/cgroup.subtree_control", root, name);
		bm_write_file(AT_FDCWD, path, 0, 0, wanted[i]);
	}
	return 0;
}

/* How something is waited for: until then; or not at all, and this is what to poll. */
struct patience {
	uint64_t deadline;
	int *ret_events; /* or NULL */
};

static struct patience patience_of(const struct bm_cgroup_ref *ref)
{
	return (struct patience){
		bm_now_ns(CLOCK_MONOTONIC) + (ref->wait_ms ?: WAIT_MS) * 1000000ull, NULL
	};
}

/* cgroup.events changes are announced by POLLPRI; no time is slept away. */
static int wait_event(int dir, const char *awaited, struct patience patience)
{
	autoclose fd = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (;;) {
		struct pollfd polled = { fd, POLLPRI, 0 };
		uint64_t now = bm_now_ns(CLOCK_MONOTONIC);
		char text[256];
		ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

		if (n < 0)
			return errno == ENODEV ? 0 : -errno;
		text[n] = '\0';
		if (strstr(text, awaited))
			return 0;
		if (patience.ret_events) {
			*patience.ret_events = TAKE_FD(fd);
			return -EAGAIN;
		}
		if (now >= patience.deadline)
			return -ETIMEDOUT;
		if (poll(&polled, 1, (int)((patience.deadline - now) / 1000000) + 1) < 0 &&
		    errno != EINTR)
			return -errno;
	}
}

/*
 * Children first: the kernel calls a cgroup frozen as soon as all its children are, whatever its
 * own tasks do; and the other way round when thawing.
 */
static int freeze_below(int parent, const char *name, bool freeze, struct patience patience)
{
	autoclosedir DIR *dir = NULL;
	autoclose fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!freeze)
		r = bm_write_file(fd, "cgroup.freeze", 0, 0, "0");
	dir = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			r = freeze_below(fd, entry->d_name, freeze, patience);
	if (r == 0 && freeze)
		r = bm_write_file(fd, "cgroup.freeze", 0, 0, "1");
	if (r == 0)
		r = wait_event(fd, freeze ? "frozen 1" : "frozen 0", patience);
	return r == -ENODEV ? 0 : r;
}

int bm_cgroup_freeze(const struct bm_cgroup_ref *ref, bool freeze, struct bm_error *err)
{
	int r = freeze_below(ref->fd, ".", freeze, patience_of(ref));

	return r < 0 ? bm_fail_errno(err, -r, "%s cgroup %s", freeze ? "freeze" : "thaw", ref->path)
		     : 0;
}

bool bm_cgroup_frozen(const struct bm_cgroup_ref *ref)
{
	autofree char *text = NULL;

	return bm_read_file(ref->fd, "cgroup.freeze", 16, &text, NULL) == 0 && text[0] == '1';
}

/* Of the daemon's namespace: no task of a container may write it, and it ends with the cgroup. */
#define FOR_A_MOMENT "trusted.benchmon.pause"

/* The same: frozen for good, which is not recorded yet. */
#define FOR_GOOD "trusted.benchmon.freeze"

static int mark(const struct bm_cgroup_ref *ref, const char *name, struct bm_error *err)
{
	return fsetxattr(ref->fd, name, "", 0, 0) < 0
		       ? bm_fail_errno(err, errno, "mark cgroup %s", ref->path)
		       : 0;
}

bool bm_cgroup_forgotten(const struct bm_cgroup_ref *ref)
{
	return fgetxattr(ref->fd, FOR_A_MOMENT, NULL, 0) >= 0;
}

int bm_cgroup_stop(const struct bm_cgroup_ref *ref, int *ret_events, struct bm_error *err)
{
	int r = mark(ref, FOR_GOOD, err);

	STEP(FREEZE_MARKED);
	if (r == 0)
		r = freeze_below(ref->fd, ".", true, (struct patience){ .ret_events = ret_events });
	return r < 0 && r != -EAGAIN ? bm_fail_errno(err, -r, "freeze cgroup %s", ref->path) : r;
}

bool bm_cgroup_stopping(const struct bm_cgroup_ref *ref)
{
	return fgetxattr(ref->fd, FOR_GOOD, NULL, 0) >= 0;
}

int bm_cgroup_going_on(const struct bm_cgroup_ref *ref, struct bm_error *err)
{
	return mark(ref, FOR_A_MOMENT, err);
}

void bm_cgroup_stopped(const struct bm_cgroup_ref *ref)
{
	fremovexattr(ref->fd, FOR_GOOD);
}

void bm_cgroup_stays(const struct bm_cgroup_ref *ref)
{
	fremovexattr(ref->fd, FOR_A_MOMENT);
}

int bm_cgroup_pause(const struct bm_cgroup_ref *ref, bool *ret_was, struct bm_error *err)
{
	int r;

	*ret_was = bm_cgroup_frozen(ref) && !bm_cgroup_forgotten(ref);
	r = *ret_was ? 0 : mark(ref, FOR_A_MOMENT, err);
	return r < 0 ? r : bm_cgroup_freeze(ref, true, err);
}

int bm_cgroup_resume(const struct bm_cgroup_ref *ref, bool was, struct bm_error *err)
{
	int r = was ? 0 : bm_cgroup_freeze(ref, false, err);

	if (r == 0 && !was) {
		fremovexattr(ref->fd, FOR_GOOD);
		fremovexattr(ref->fd, FOR_A_MOMENT);
	}
	return r;
}

int bm_cgroup_kill(const struct bm_cgroup_ref *ref, struct bm_error *err)
{
	int r = bm_write_file(ref->fd, "cgroup.kill", 0, 0, "1");

	if (r == 0)
		r = wait_event(ref->fd, "populated 0", patience_of(ref));
	/* Nothing is in one that is not there any more, or has gone meanwhile. */
	if (r == -ENOENT || r == -ENODEV)
		return 0;
	return r < 0 ? bm_fail_errno(err, -r, "kill cgroup %s", ref->path) : 0;
}

static int remove_below(int parent, const char *name)
{
	autoclosedir DIR *dir = NULL;
	autoclose fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct dirent *entry;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	TAKE_FD(fd);
	while ((entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		int r = remove_below(dirfd(dir), entry->d_name);

		if (r < 0)
			return r;
	}
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

int bm_cgroup_remove(const char *path, struct bm_error *err)
{
	const char *root = bm_cgroup_root();
	autoclose fd = root ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int r = fd < 0 ? -ENOENT : remove_below(fd, path + 1);

	return r < 0 ? bm_fail_errno(err, -r, "remove cgroup %s", path) : 0;
}

static int each_below(int parent, const char *name, int (*fn)(void *ctx, pid_t pid), void *ctx)
{
	autoclosedir DIR *dir = NULL;
	autofree char *procs = NULL;
	autoclose fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct dirent *entry;
	char *line, *rest;
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = bm_read_file(fd, "cgroup.procs", PROCS_MAX, &procs, NULL);
	/* It was removed, and is open. */
	if (r == -ENOENT || r == -ENODEV)
		return 0;
	/* EOPNOTSUPP: a threaded cgroup, whose processes its domain lists. */
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	for (rest = procs; rest && (line = strsep(&rest, "\n"));) {
		if (!*line)
			continue;
		r = fn(ctx, (pid_t)strtol(line, NULL, 10));
		if (r)
			return r;
	}
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	TAKE_FD(fd);
	while ((entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		r = each_below(dirfd(dir), entry->d_name, fn, ctx);
		if (r)
			return r;
	}
	return 0;
}

int bm_cgroup_each(const struct bm_cgroup_ref *ref, int (*fn)(void *ctx, pid_t pid), void *ctx)
{
	return each_below(ref->fd, ".", fn, ctx);
}

struct ids {
	uint64_t *list;
	size_t count;
};

static int ids_below(int parent, const char *name, struct ids *ids)
{
	autoclosedir DIR *dir = NULL;
	autoclose fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct dirent *entry;
	uint64_t *grown;
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	grown = reallocarray(ids->list, ids->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	ids->list = grown;
	r = id_of(fd, &grown[ids->count]);
	if (r < 0)
		return r;
	ids->count++;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	TAKE_FD(fd);
	while (r == 0 && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			r = ids_below(dirfd(dir), entry->d_name, ids);
	return r;
}

int bm_cgroup_ids(const struct bm_cgroup_ref *ref, uint64_t **ret, size_t *ret_count)
{
	struct ids ids = {};
	int r = ids_below(ref->fd, ".", &ids);

	if (r < 0) {
		free(ids.list);
		return r;
	}
	*ret = ids.list;
	*ret_count = ids.count;
	return 0;
}

bool bm_cgroup_holds(const struct bm_cgroup_ref *ref, pid_t pid)
{
	char path[BM_CGROUP_PATH];
	size_t len = strlen(ref->path);

	return bm_cgroup_of_pid(pid, path, NULL) == 0 && !strncmp(path, ref->path, len) &&
	       (!path[len] || path[len] == '/');
}

int bm_threads_each(pid_t pid, int (*fn)(void *ctx, pid_t tid), void *ctx)
{
	char path[64];
	autoclosedir DIR *threads = NULL;
	struct dirent *entry;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (r == 0 && threads && (entry = readdir(threads)))
		if (isdigit((unsigned char)entry->d_name[0]))
			r = fn(ctx, atoi(entry->d_name));
	return r;
}
