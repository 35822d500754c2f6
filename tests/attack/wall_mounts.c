// SPDX-License-Identifier: GPL-2.0-only
/* Mounts and namespaces: the old calls, the new ones, and what would give the power for them. */
#include "payload.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MS_MOVE
#define MS_MOVE 8192
#endif

static long do_mount(const char *source, const char *target, const char *type, unsigned long flags,
		     const char *data)
{
	return door(SYS_mount, low(source), low(target), low(type), flags, low(data), 0);
}

/* TYPE TARGET [DATA] */
static int way_type(char **args)
{
	return outcome(do_mount("none", args[1], args[0], 0, args[2]));
}

/* TARGET: of its own directories. */
static int way_overlay(char **args)
{
	char data[256], path[128];

	for (const char *const *name = (const char *const[]){ "l", "u", "w", NULL }; *name;
	     name++) {
		snprintf(path, sizeof(path), "%s/%s", args[0], *name);
		mkdir(path, 0755);
	}
	snprintf(data, sizeof(data), "lowerdir=%s/l,upperdir=%s/u,workdir=%s/w", args[0], args[0],
		 args[0]);
	return outcome(do_mount("overlay", args[0], "overlay", 0, data));
}

/* TARGET: without the device, as if it had been passed one. */
static int way_fuse(char **args)
{
	return past(do_mount("f", args[0], "fuse", 0, "fd=0,rootmode=40000,user_id=0,group_id=0"),
		    EINVAL);
}

/* FROM TO [rec|ro] */
static int way_bind(char **args)
{
	unsigned long flags = MS_BIND | (args[2] && !strcmp(args[2], "rec") ? MS_REC : 0);

	return outcome(do_mount(args[0], args[1], NULL, flags, NULL));
}

/* TARGET [super] */
static int way_remount(char **args)
{
	return outcome(do_mount("none", args[0], NULL, MS_REMOUNT | (args[1] ? 0 : MS_BIND), NULL));
}

/* TARGET shared|private|slave|unbindable */
static int way_propagate(char **args)
{
	unsigned long kind = !strcmp(args[1], "shared")    ? MS_SHARED
			     : !strcmp(args[1], "private") ? MS_PRIVATE
			     : !strcmp(args[1], "slave")   ? MS_SLAVE
							   : MS_UNBINDABLE;

	return outcome(do_mount("none", args[0], NULL, kind, NULL));
}

/* FROM TO: a mount; bound there first where that is possible. */
static int way_move(char **args)
{
	(void)!mount(args[0], args[0], NULL, MS_BIND, NULL);
	return outcome(do_mount(args[0], args[1], NULL, MS_MOVE, NULL));
}

/* TARGET [FLAGS] */
static int way_umount(char **args)
{
	return outcome(door(SYS_umount2, low(args[0]), args[1] ? number(args[1]) : MNT_DETACH, 0, 0,
			    0, 0));
}

/* DIR */
static int way_pivot(char **args)
{
	(void)!mount(args[0], args[0], NULL, MS_BIND, NULL);
	if (chdir(args[0]) < 0)
		return setup(args[0]);
	return outcome(door(SYS_pivot_root, low("."), low("."), 0, 0, 0, 0));
}

/* PATH [rec|plain|empty] */
static int way_opentree(char **args)
{
	unsigned flags = OPEN_TREE_CLONE | (args[1] && !strcmp(args[1], "rec") ? AT_RECURSIVE : 0);

	return outcome(door(SYS_open_tree, AT_FDCWD, low(args[0]), flags, 0, 0, 0));
}

/* FROM TO: what is mounted, by a descriptor that open_tree gives to anybody. */
static int way_movemount(char **args)
{
	long fd;

	(void)!mount(args[0], args[0], NULL, MS_BIND, NULL);
	fd = syscall(SYS_open_tree, AT_FDCWD, args[0], 0);
	if (fd < 0)
		fd = open(args[0], O_PATH);
	if (fd < 0)
		return setup(args[0]);
	return outcome(door(SYS_move_mount, fd, low(""), AT_FDCWD, low(args[1]),
			    4 /* MOVE_MOUNT_F_EMPTY_PATH */, 0));
}

/* TYPE [TARGET]: made, configured, mounted. */
static int way_fsopen(char **args)
{
	long fs = door(SYS_fsopen, low(args[0]), 0, 0, 0, 0, 0), fd;

	if (fs < 0)
		return errno;
	if (door(SYS_fsconfig, fs, 6 /* create */, 0, 0, 0, 0) < 0)
		return errno;
	fd = door(SYS_fsmount, fs, 0, 0, 0, 0, 0);
	if (fd < 0)
		return errno;
	return args[1] ? outcome(door(SYS_move_mount, fd, low(""), AT_FDCWD, low(args[1]), 4, 0))
		       : 0;
}

/* PATH */
static int way_fspick(char **args)
{
	return outcome(door(SYS_fspick, AT_FDCWD, low(args[0]), 0, 0, 0, 0));
}

/* PATH [clear]: nosuid set, or ro cleared */
static int way_setattr(char **args)
{
	static struct {
		uint64_t set, clear, propagation, userns;
	} attr;

	if (args[1])
		attr.clear = 1;
	else
		attr.set = 2;
	(void)!mount(args[0], args[0], NULL, MS_BIND, NULL);
	return outcome(door(SYS_mount_setattr, AT_FDCWD, low(args[0]), 0, &attr, sizeof(attr), 0));
}

static int flags_of(const char *names)
{
	static const struct {
		const char *name;
		int flag;
	} all[] = { { "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },
		    { "net", CLONE_NEWNET },   { "pid", CLONE_NEWPID },
		    { "ipc", CLONE_NEWIPC },   { "uts", CLONE_NEWUTS },
		    { "time", 0x80 },          { "cgroup", CLONE_NEWCGROUP } };
	int flags = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strstr(names, all[i].name))
			flags |= all[i].flag;
	return flags;
}

/* NAMES, joined by commas */
static int way_unshare(char **args)
{
	return outcome(door(SYS_unshare, flags_of(args[0]), 0, 0, 0, 0, 0));
}

static int way_clone(char **args)
{
	long pid = door(SYS_clone, flags_of(args[0]) | SIGCHLD, 0, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

static int way_clone3(char **args)
{
	static uint64_t clone[8];
	long pid;

	clone[0] = (unsigned)flags_of(args[0]);
	clone[4] = SIGCHLD;
	pid = door(SYS_clone3, clone, sizeof(clone), 0, 0, 0, 0);
	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

/* PID NAMES: by a pidfd. [FILE instead of PID]: by its descriptor. */
static int way_setns(char **args)
{
	int fd = args[0][0] == '/' ? open(args[0], O_RDONLY)
				   : (int)syscall(SYS_pidfd_open, number(args[0]), 0);

	if (fd < 0)
		return errno;
	return outcome(door(SYS_setns, fd, flags_of(args[1]), 0, 0, 0, 0));
}

/* PROBE ARGS...: as root of a user namespace of its own, with a mount namespace. */
static int way_nested(char **args)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? errno : run_probe(args);
}

/* FILE: in a network of its own, what its parent's network is, by /proc/PID/FILE */
static int way_brother(char **args)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", getppid(), args[0]);
	if (unshare(CLONE_NEWUSER) < 0 || unshare(CLONE_NEWNET) < 0)
		return setup("unshare");
	return opened(open(path, O_RDONLY));
}

static const struct way ways[] = {
	{ "type", way_type },           { "overlay", way_overlay },
	{ "fuse", way_fuse },           { "bind", way_bind },
	{ "remount", way_remount },     { "propagate", way_propagate },
	{ "move", way_move },           { "umount", way_umount },
	{ "pivot", way_pivot },         { "opentree", way_opentree },
	{ "movemount", way_movemount }, { "fsopen", way_fsopen },
	{ "fspick", way_fspick },       { "setattr", way_setattr },
	{ "unshare", way_unshare },     { "clone", way_clone },
	{ "clone3", way_clone3 },       { "setns", way_setns },
	{ "nested", way_nested },       { "brother", way_brother },
};

int probe_mnt(char **args)
{
	return by_way(ways, sizeof(ways) / sizeof(ways[0]), args);
}
