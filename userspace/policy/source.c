// SPDX-License-Identifier: GPL-2.0-only
#include "policy/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/above.h"
#include "base/cleanup.h"
#include "base/escape.h"

static const struct {
	unsigned long magic;
	const char *name;
	bool kernel_view; /* what it shows is the kernel, not somebody's files */
} file_systems[] = {
	{ EXT4_SUPER_MAGIC, "ext4", false },
	{ 0x58465342, "xfs", false },
	{ BTRFS_SUPER_MAGIC, "btrfs", false },
	{ TMPFS_MAGIC, "tmpfs", false },
	{ OVERLAYFS_SUPER_MAGIC, "overlay", false },
	{ NFS_SUPER_MAGIC, "nfs", false },
	{ V9FS_MAGIC, "9p", false },
	{ F2FS_SUPER_MAGIC, "f2fs", false },
	{ 0x65735546, "fuse", false },
	{ MSDOS_SUPER_MAGIC, "vfat", false },
	{ SQUASHFS_MAGIC, "squashfs", false },
	{ ISOFS_SUPER_MAGIC, "iso9660", false },
	{ PROC_SUPER_MAGIC, "proc", true },
	{ SYSFS_MAGIC, "sysfs", true },
	{ DEBUGFS_MAGIC, "debugfs", true },
	{ TRACEFS_MAGIC, "tracefs", true },
	{ SECURITYFS_MAGIC, "securityfs", true },
	{ SELINUX_MAGIC, "selinuxfs", true },
	{ SMACK_MAGIC, "smackfs", true },
	{ CGROUP_SUPER_MAGIC, "cgroup", true },
	{ CGROUP2_SUPER_MAGIC, "cgroup2", true },
	{ BPF_FS_MAGIC, "bpf", true },
	{ EFIVARFS_MAGIC, "efivarfs", true },
	{ PSTOREFS_MAGIC, "pstore", true },
	{ DEVPTS_SUPER_MAGIC, "devpts", true },
	{ 0x19800202, "mqueue", true },
	{ BINFMTFS_MAGIC, "binfmt_misc", true },
	{ NSFS_MAGIC, "nsfs", true },
	{ 0x62656570, "configfs", true },
	{ HUGETLBFS_MAGIC, "hugetlbfs", true },
};

/* benchmon's own state: with it a Bench would change policy. */
static const char *const own_paths[] = { "/run/benchmon", "/var/lib/benchmon", "/var/log/benchmon",
					 "/etc/benchmon" };

static bool within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

static bool same(void *ctx, int fd, const struct stat *st)
{
	const struct stat *what = ctx;

	(void)fd;
	return st->st_dev == what->st_dev && st->st_ino == what->st_ino;
}

/*
 * True when dir, or a directory above it, is what. By inode: a bind mount of it, under whatever
 * name, is still it. What can't be told counts as in it.
 */
static bool lies_in(int dir, struct stat *what)
{
	return bm_any_above(dir, same, what) != 0;
}

/* The directory fd is, or the one it was opened in: a file has no "..". */
static int directory_of(int fd, const struct bm_source *s)
{
	char path[PATH_MAX];

	if (s->directory)
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(s->path, '/') - s->path), s->path);
	return open(*path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int check_fs(int fd, struct bm_source *s, struct bm_error *err)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return bm_fail_errno(err, errno, "file system of the object");
	s->fstype = "other";
	for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
		if ((unsigned long)fs.f_type != file_systems[i].magic)
			continue;
		s->fstype = file_systems[i].name;
		if (file_systems[i].kernel_view)
			return bm_fail(err, EPERM, "object-kind",
				       "grant files of a disk or of tmpfs",
				       "a view of the kernel (%s) is never granted", s->fstype);
	}
	return 0;
}

static int check_place(int fd, const struct bm_source *s, struct bm_error *err)
{
	autoclose dir = directory_of(fd, s);
	struct stat object;
	char shown[256];

	if (!strcmp(s->path, "/"))
		return bm_fail(err, EPERM, "object-kind", "grant the directory that is meant",
			       "the root directory is never granted");
	if (fstat(fd, &object) < 0)
		return bm_fail_errno(err, errno, "the object");
	for (size_t i = 0; i < sizeof(own_paths) / sizeof(own_paths[0]); i++) {
		autoclose own = open(own_paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		/* By name too: what is not there yet would come to lie in it. */
		bool holds = within(s->path, own_paths[i]) || within(own_paths[i], s->path);
		struct stat st;

		if (own >= 0)
			holds |= lies_in(own, &object);
		if (own >= 0 && dir >= 0 && fstat(own, &st) == 0)
			holds |= lies_in(dir, &st);
		if (holds)
			return bm_fail(err, EPERM, "own-files", "grant a directory that has not",
				       "%s holds benchmon's own files",
				       bm_escape(s->path, shown, sizeof(shown)));
	}
	return 0;
}

/*
 * For w: a file by an fd open for writing, a directory by its owner and mode, as access(2) would
 * decide for the caller. The open of a directory proves no more than r.
 */
static int check_writable(int flags, const struct bm_source *s, uid_t caller, struct bm_error *err)
{
	bool may = s->directory ? caller == 0 || caller == s->uid || s->mode & S_IWOTH
				: (flags & O_ACCMODE) == O_RDWR;

	return may ? 0
		   : bm_fail(err, EACCES, "own-access", "grant it ro",
			     "rw needs write access of the caller's own");
}

int bm_source_look(int fd, bool writable, uid_t caller, struct bm_source *ret, struct bm_error *err)
{
	struct bm_source s = {};
	char link[64];
	struct stat st;
	ssize_t len;
	int flags = fcntl(fd, F_GETFL), r;

	if (flags < 0 || fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "the object");
	if (flags & O_PATH || (flags & O_ACCMODE) == O_WRONLY)
		return bm_fail(
			err, EPERM, "own-access", "open it for reading",
			"the object was not opened for reading, which proves no access to it");
	s.directory = S_ISDIR(st.st_mode);
	if (!s.directory && !S_ISREG(st.st_mode))
		return bm_fail(err, EPERM, "object-kind", NULL,
			       "only directories and regular files are granted");
	if (st.st_nlink == 0)
		return bm_fail(err, ENOENT, "object-kind", NULL, "the object has been deleted");
	s.uid = st.st_uid;
	s.gid = st.st_gid;
	s.mode = st.st_mode & 07777;
	s.size = (uint64_t)st.st_size;
	s.device = st.st_dev;
	s.inode = st.st_ino;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, s.path, sizeof(s.path) - 1);
	if (len < 0)
		return bm_fail_errno(err, errno, "%s", link);
	r = check_fs(fd, &s, err);
	if (r == 0)
		r = check_place(fd, &s, err);
	if (r == 0 && writable)
		r = check_writable(flags, &s, caller, err);
	if (r < 0)
		return r;
	*ret = s;
	return 0;
}
