// SPDX-License-Identifier: GPL-2.0-only
/* Sizes, modes, owners, times, extended attributes; and looking at them. */
#include "payload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 2 } };

static mode_t mode_of(const char *text)
{
	return (mode_t)strtol(text, NULL, 8);
}

int probe_truncate(char **args)
{
	return outcome(truncate(args[0], 3));
}

int probe_ftruncate(char **args)
{
	int fd = open(args[0], O_WRONLY);

	return outcome(fd < 0 ? -1 : ftruncate(fd, 3));
}

int probe_chmod(char **args)
{
	return outcome(chmod(args[0], mode_of(args[1])));
}

int probe_fchmod(char **args)
{
	int fd = open(args[0], O_RDONLY);

	return fd < 0 ? setup(args[0]) : outcome(fchmod(fd, mode_of(args[1])));
}

int probe_fchmodat(char **args)
{
	int dir = open(args[0], O_PATH | O_DIRECTORY);

	return dir < 0 ? setup(args[0]) : outcome(fchmodat(dir, args[1], mode_of(args[2]), 0));
}

/* Of an O_PATH descriptor, which fchmod does not take. */
int probe_fchmodat2(char **args)
{
	int fd = open(args[0], O_PATH);

	return fd < 0 ? setup(args[0])
		      : outcome(syscall(SYS_fchmodat2, fd, "", mode_of(args[1]), AT_EMPTY_PATH));
}

int probe_chown(char **args)
{
	return outcome(chown(args[0], (uid_t)atoi(args[1]), (gid_t)atoi(args[1])));
}

int probe_fchown(char **args)
{
	int fd = open(args[0], O_PATH);

	return fd < 0 ? setup(args[0])
		      : outcome(fchownat(fd, "", (uid_t)atoi(args[1]), (gid_t)-1, AT_EMPTY_PATH));
}

int probe_utimes(char **args)
{
	return outcome(utimensat(AT_FDCWD, args[0], args[1] ? NULL : times, 0));
}

/* opath: by itself, as a path that is empty. */
int probe_futimens(char **args)
{
	int fd = open(args[0], args[1] ? O_PATH : O_RDONLY);

	if (fd < 0)
		return setup(args[0]);
	return outcome(args[1] ? utimensat(fd, "", times, AT_EMPTY_PATH) : futimens(fd, times));
}

int probe_setxattr(char **args)
{
	return outcome(setxattr(args[0], args[1], "value", 5, 0));
}

int probe_fsetxattr(char **args)
{
	int fd = open(args[0], O_RDONLY);

	return fd < 0 ? setup(args[0]) : outcome(fsetxattr(fd, args[1], "value", 5, 0));
}

int probe_setcap(char **args)
{
	/* VFS_CAP_REVISION_2, effective, CAP_SYS_ADMIN. */
	uint32_t value[5] = { 0x02000001, 1 << 21, 0, 0, 0 };

	return outcome(setxattr(args[0], "security.capability", value, sizeof(value), 0));
}

int probe_removexattr(char **args)
{
	return outcome(removexattr(args[0], args[1]));
}

int probe_setacl(char **args)
{
	struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry entries[5];
	} acl = { { POSIX_ACL_XATTR_VERSION },
		  { { ACL_USER_OBJ, 6, (uint32_t)-1 },
		    { ACL_USER, 6, 0 },
		    { ACL_GROUP_OBJ, 6, (uint32_t)-1 },
		    { ACL_MASK, 6, (uint32_t)-1 },
		    { ACL_OTHER, 6, (uint32_t)-1 } } };

	return outcome(setxattr(args[0], "system.posix_acl_access", &acl, sizeof(acl), 0));
}

int probe_getxattr(char **args)
{
	char buf[256];

	return outcome(getxattr(args[0], args[1], buf, sizeof(buf)));
}

int probe_listxattr(char **args)
{
	char buf[256];

	return outcome(listxattr(args[0], buf, sizeof(buf)));
}

int probe_stat(char **args)
{
	struct stat st;

	return outcome(syscall(SYS_stat, args[0], &st));
}

int probe_lstat(char **args)
{
	struct stat st;

	return outcome(syscall(SYS_lstat, args[0], &st));
}

int probe_fstatat(char **args)
{
	int dir = open(args[0], O_PATH | O_DIRECTORY);
	struct stat st;

	return dir < 0 ? setup(args[0]) : outcome(syscall(SYS_newfstatat, dir, args[1], &st, 0));
}

int probe_fstat(char **args)
{
	int fd = open(args[0], O_PATH | O_NOFOLLOW);
	struct stat st;

	return fd < 0 ? setup(args[0]) : outcome(syscall(SYS_fstat, fd, &st));
}

int probe_statx(char **args)
{
	int fd = args[1] ? open(args[0], O_PATH) : AT_FDCWD;
	struct statx stx;

	return outcome(statx(fd, args[1] ? "" : args[0],
			     AT_STATX_DONT_SYNC | (args[1] ? AT_EMPTY_PATH : 0), STATX_BASIC_STATS,
			     &stx));
}

int probe_readlink(char **args)
{
	int fd = args[1] ? open(args[0], O_PATH | O_NOFOLLOW) : AT_FDCWD;
	char target[256];

	return outcome(readlinkat(fd, args[1] ? "" : args[0], target, sizeof(target)));
}

int probe_access(char **args)
{
	return outcome(syscall(SYS_access, args[0], atoi(args[1])));
}

int probe_inotify(char **args)
{
	int fd = inotify_init();

	return fd < 0 ? setup("inotify_init")
		      : outcome(inotify_add_watch(fd, args[0], IN_ALL_EVENTS));
}

int probe_fanotify(char **args)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY);

	return fd < 0 ? setup("fanotify_init")
		      : outcome(fanotify_mark(fd, FAN_MARK_ADD, FAN_ACCESS | FAN_OPEN, AT_FDCWD,
					      args[0]));
}
