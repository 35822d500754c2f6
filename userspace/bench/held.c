// SPDX-License-Identifier: GPL-2.0-only
#include "bench/held.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/kcmp.h>
#include <linux/memfd.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "bench/held_internal.h"
#include "confine/confine.h"

#define PTS_MAJOR_FIRST 136
#define PTS_MAJOR_LAST 143
#define FDINFO_MAX (64u << 20)
#define PLAIN_MAX 64

static const char *const names[] = {
	[BM_HELD_FD] = "fd",           [BM_HELD_CWD] = "cwd",   [BM_HELD_ROOT] = "root",
	[BM_HELD_MAPPING] = "mapping", [BM_HELD_LOCK] = "lock", [BM_HELD_WATCH] = "watch",
	[BM_HELD_RING] = "ring",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == BM_HELD_KIND_MAX, "a name for each kind");

const char *bm_held_kind_name(enum bm_held_kind kind)
{
	return names[kind];
}

void bm_held_done(struct bm_held_list *held)
{
	free(held->list);
	*held = (struct bm_held_list){};
}

static void note_device(struct walk *w, int fd)
{
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		w->internal[w->internal_count++] = st.st_dev;
	bm_close(fd);
}

/* The ring of io_setup(2) is mapped from a file system of its own. */
static void note_aio(struct walk *w)
{
	autoclosedir DIR *dir = opendir("/proc/self/map_files");
	struct dirent *entry;
	aio_context_t ctx = 0;
	struct stat st;

	if (!dir || syscall(SYS_io_setup, 1, &ctx) < 0)
		return;
	while ((entry = readdir(dir)))
		if (strtoul(entry->d_name, NULL, 16) == ctx &&
		    fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
			w->internal[w->internal_count++] = st.st_dev;
	syscall(SYS_io_destroy, ctx);
}

/* What mq_open(2) gives is on a mount of the kernel's own, of the file system that is mounted. */
static void note_mqueue(struct walk *w)
{
	for (size_t i = 0; i < w->mounts.count; i++)
		if (!strcmp(w->mounts.list[i].fstype, "mqueue") &&
		    w->internal_count < INTERNAL_MAX - 1)
			w->internal[w->internal_count++] =
				makedev(w->mounts.list[i].major, w->mounts.list[i].minor);
}

/* The devices of the file systems that no path leads to: files of the host don't lie there. */
static int learn_internal(struct walk *w)
{
	int pair[2], epoll;

	if (pipe2(pair, O_CLOEXEC) == 0) {
		bm_close(pair[1]);
		note_device(w, pair[0]);
	}
	note_device(w, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	note_device(w, memfd_create("benchmon", MFD_CLOEXEC));
	note_device(w, memfd_create("benchmon", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB));
	note_device(w, memfd_create("benchmon", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_1GB));
	note_device(w, (int)syscall(SYS_memfd_secret, O_CLOEXEC));
	note_device(w, open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
	note_device(w, (int)syscall(SYS_pidfd_open, getpid(), 0));
	note_aio(w);
	note_mqueue(w);
	/* Last: without it watches and rings would not be told from the rest. */
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		return -errno;
	note_device(w, epoll);
	w->anonymous = w->internal[w->internal_count - 1];
	return 0;
}

static bool is_internal(const struct walk *w, dev_t device)
{
	for (size_t i = 0; i < w->internal_count; i++)
		if (w->internal[i] == device)
			return true;
	return false;
}

static bool is_known_mount(const struct walk *w, uint64_t id)
{
	const struct bm_foreign_list *foreign = w->scan->foreign;

	for (size_t i = 0; foreign && i < foreign->count; i++)
		if (foreign->list[i].id == id)
			return false;
	for (size_t i = 0; i < w->mounts.count; i++)
		if (w->mounts.list[i].id == id)
			return true;
	return false;
}

static bool is_pts(const struct statx *stx)
{
	return S_ISCHR(stx->stx_mode) && stx->stx_rdev_major >= PTS_MAJOR_FIRST &&
	       stx->stx_rdev_major <= PTS_MAJOR_LAST;
}

int held_add(struct walk *w, const struct bm_held *held)
{
	struct bm_held *grown;

	if (w->found.count == HELD_FOUND_MAX)
		return -E2BIG;
	grown = reallocarray(w->found.list, w->found.count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	w->found.list = grown;
	grown[w->found.count++] = *held;
	return 0;
}

/* Follows the magic link name in dir; 1 when it leads to something held, which *ret then is. */
static int look(struct walk *w, int dir, const char *name, struct bm_held *ret)
{
	struct statx stx;
	dev_t device;
	ssize_t len;

	/* Not synchronized: a hung server of its file system must not hang this. */
	if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  STATX_TYPE | STATX_INO | STATX_MNT_ID, &stx) < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	device = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	if (is_known_mount(w, stx.stx_mnt_id) || is_pts(&stx))
		return 0;
	if (is_internal(w, device))
		return device == w->anonymous ? held_look_anonymous(w, dir, name, ret) : 0;
	if (w->scan->carried && w->scan->carried(w->scan->ctx, device, stx.stx_ino))
		return 0;
	ret->mount = stx.stx_mnt_id;
	ret->device = device;
	ret->inode = stx.stx_ino;
	ret->directory = S_ISDIR(stx.stx_mode);
	len = readlinkat(dir, name, ret->path, sizeof(ret->path) - 1);
	ret->path[len < 0 ? 0 : len] = '\0';
	return 1;
}

/* flags and locks of descriptor number, from fdinfo. */
static int look_closer(int task, struct bm_held *held)
{
	autofree char *info = NULL;
	const char *flags;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "fdinfo/%d", held->fd);
	r = bm_read_file(task, path, FDINFO_MAX, &info, NULL);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	flags = strstr(info, "flags:");
	held->writable = flags && (strtoul(flags + 6, NULL, 8) & O_ACCMODE) != O_RDONLY;
	if (strstr(info, "\nlock:"))
		held->kind = BM_HELD_LOCK;
	return 0;
}

/* The same directory, of the same process. */
static bool is_found(const struct walk *w, const struct bm_held *held)
{
	for (size_t i = w->found.count; i-- > 0 && w->found.list[i].pid == held->pid;)
		if (w->found.list[i].directory && w->found.list[i].kind == held->kind &&
		    w->found.list[i].mount == held->mount && w->found.list[i].inode == held->inode)
			return true;
	return false;
}

/* fn of each link in the directory name of at; 0 also when that has gone. */
static int each_link(struct walk *w, int at, const char *name,
		     int (*fn)(struct walk *w, int at, int dir, const char *link))
{
	autoclosedir DIR *dir = NULL;
	autoclose fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	TAKE_FD(fd);
	while (r >= 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			r = fn(w, at, dirfd(dir), entry->d_name);
	return r;
}

static int walk_fd(struct walk *w, int task, int dir, const char *link)
{
	struct bm_held held = { .kind = BM_HELD_FD,
				.pid = w->pid,
				.fd = (int)strtol(link, NULL, 10) };
	int r = look(w, dir, link, &held);

	if (r > 0 && held.kind == BM_HELD_FD)
		r = look_closer(task, &held) ?: 1;
	/* A process may have a million of them: some stand for all, but for directories. */
	if (r > 0 && held.kind == BM_HELD_FD && !held.directory && ++w->plain > PLAIN_MAX)
		return 0;
	if (r <= 0 || (held.directory && is_found(w, &held)))
		return r;
	return held_add(w, &held);
}

static int walk_directory(struct walk *w, int task, const char *name, enum bm_held_kind kind)
{
	struct bm_held held = { .kind = kind, .pid = w->pid, .fd = -1 };
	int r = look(w, task, name, &held);

	return r > 0 ? held_add(w, &held) : r;
}

static int walk_mapping(struct walk *w, int process, int dir, const char *link)
{
	struct bm_held held = { .kind = BM_HELD_MAPPING, .pid = w->pid, .fd = -1 };
	struct stat st;
	int r = look(w, dir, link, &held);

	(void)process;
	if (r <= 0)
		return r;
	held.writable = fstatat(dir, link, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mode & S_IWUSR;
	return held_add(w, &held);
}

/* The leader may have exited: what it had is then seen at another thread alone. */
static int walk_memory(struct walk *w, pid_t task, bool *ret_seen)
{
	autofree char *statm = NULL;
	autoclose dir = -1;
	char path[64];

	/* By its own number: below task/ there is no map_files. */
	snprintf(path, sizeof(path), "/proc/%d", task);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || bm_read_file(dir, "statm", 256, &statm, NULL) < 0 ||
	    !strtoul(statm, NULL, 10))
		return 0;
	*ret_seen = true;
	return each_link(w, dir, "map_files", walk_mapping);
}

/* Threads may have a table of descriptors, or a working directory, of their own. */
static bool shares(pid_t process, pid_t task, int what)
{
	return process == task || syscall(SYS_kcmp, process, task, what, 0, 0) == 0;
}

static int walk_task(struct walk *w, pid_t task)
{
	char path[64];
	autoclose dir = -1;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d", w->pid, task);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? 0 : -errno;
	if (task == w->pid || !shares(w->pid, task, KCMP_FS)) {
		r = walk_directory(w, dir, "cwd", BM_HELD_CWD);
		if (r == 0)
			r = walk_directory(w, dir, "root", BM_HELD_ROOT);
	}
	w->plain = 0;
	if (r == 0 && (task == w->pid || !shares(w->pid, task, KCMP_FILES)))
		r = each_link(w, dir, "fd", walk_fd);
	return r;
}

static bool is_arrival(const struct walk *w, pid_t pid)
{
	autoclose pidfd = w->scan->arrives ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	return pidfd >= 0 && w->scan->arrives(w->scan->ctx, pidfd);
}

static int walk_process(void *ctx, pid_t pid)
{
	autoclosedir DIR *tasks = NULL;
	autoclose dir = -1;
	struct walk *w = ctx;
	struct dirent *entry;
	size_t before = w->found.count;
	bool mapped = false;
	char path[64];
	int r = 0;

	w->pid = pid;
	if (is_arrival(w, pid))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? 0 : -errno;
	tasks = fdopendir(openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	while (r == 0 && tasks && (entry = readdir(tasks))) {
		pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] == '.')
			continue;
		if (!mapped)
			r = walk_memory(w, task, &mapped);
		if (r == 0)
			r = walk_task(w, task);
	}
	if (w->found.count > before) {
		autofree char *comm = NULL;

		if (bm_read_file(dir, "comm", 64, &comm, NULL) < 0)
			comm = strdup("");
		for (size_t i = before; comm && i < w->found.count; i++)
			snprintf(w->found.list[i].comm, sizeof(w->found.list[i].comm), "%.*s",
				 (int)strcspn(comm, "\n"), comm);
	}
	return r;
}

/* In a helper: what it reads is what processes of the Bench have made of themselves. */
static int find(void *arg, int *ret_fd, struct bm_error *err)
{
	struct walk *w = arg;
	autoclose answer = -1;
	int r = bm_confine(BM_CONFINE_SCAN, err);

	if (r == 0 && w->scan->apart)
		w->scan->apart(w->scan->ctx);
	if (r == 0)
		r = learn_internal(w);
	if (r == 0)
		r = bm_cgroup_each(w->scan->cgroup, walk_process, w);
	if (r < 0)
		return bm_fail_errno(err, -r, "look for what process %d holds", w->pid);
	answer = memfd_create("benchmon", MFD_CLOEXEC);
	r = answer < 0
		    ? -errno
		    : bm_write_all(answer, w->found.list, w->found.count * sizeof(*w->found.list));
	if (r < 0 || lseek(answer, 0, SEEK_SET) < 0)
		return bm_fail_errno(err, r < 0 ? -r : errno, "what the Bench holds");
	*ret_fd = TAKE_FD(answer);
	return 0;
}

int bm_held_start(const struct bm_held_scan *scan, struct bm_held_search *ret, struct bm_error *err)
{
	struct walk w = { .scan = scan };
	int r = bm_target_mounts(scan->target, &w.mounts, err);

	if (r == 0)
		r = bm_helper_start(find, &w, BM_HELPER_ALL, &ret->socket, &ret->pid, err);
	bm_mounts_done(&w.mounts);
	return r;
}
