// SPDX-License-Identifier: GPL-2.0-only
/* Making, moving and removing names, and ways to reach one without opening it. */
#include "payload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

int probe_node(char **args)
{
	mode_t mode = args[2] ? (mode_t)strtol(args[2], NULL, 8) : 0666;
	mode_t type = !strcmp(args[1], "fifo")   ? S_IFIFO
		      : !strcmp(args[1], "sock") ? S_IFSOCK
		      : !strcmp(args[1], "char") ? S_IFCHR
						 : S_IFREG;

	umask(0);
	return outcome(mknod(args[0], type | mode, 0));
}

int probe_bind(char **args)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0)
		return setup("socket");
	strncpy(address.sun_path, args[0], sizeof(address.sun_path) - 1);
	return outcome(bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

int probe_mkdir(char **args)
{
	umask(0);
	return outcome(mkdir(args[0], args[1] ? (mode_t)strtol(args[1], NULL, 8) : 0777));
}

int probe_rmdir(char **args)
{
	return outcome(rmdir(args[0]));
}

int probe_unlink(char **args)
{
	return outcome(unlink(args[0]));
}

int probe_unlinkat(char **args)
{
	int dir = open(args[0], O_PATH | O_DIRECTORY);

	return dir < 0 ? setup(args[0])
		       : outcome(unlinkat(dir, args[1], args[2] ? AT_REMOVEDIR : 0));
}

int probe_symlink(char **args)
{
	return outcome(symlink("/etc/target", args[0]));
}

int probe_link(char **args)
{
	return outcome(link(args[0], args[1]));
}

/* From a descriptor: by its name in /proc, or by itself, which only its opener may do. */
int probe_linkat(char **args)
{
	int fd = open(args[0], args[2] ? O_RDONLY : O_PATH);
	char path[64];

	if (fd < 0)
		return setup(args[0]);
	if (args[2])
		return outcome(linkat(fd, "", AT_FDCWD, args[1], AT_EMPTY_PATH));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return outcome(linkat(AT_FDCWD, path, AT_FDCWD, args[1], AT_SYMLINK_FOLLOW));
}

int probe_rename(char **args)
{
	return outcome(rename(args[0], args[1]));
}

int probe_rename2(char **args)
{
	unsigned int flags = !strcmp(args[2], "exchange") ? RENAME_EXCHANGE : RENAME_NOREPLACE;

	return outcome(renameat2(AT_FDCWD, args[0], AT_FDCWD, args[1], flags));
}

/* PROBE on the name that /proc has for an O_PATH descriptor of PATH. */
int probe_byfd(char **args)
{
	char path[64], *words[8] = { args[1], path };
	int fd = open(args[0], O_PATH);

	if (fd < 0)
		return setup(args[0]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int i = 2; args[i] && i < 7; i++)
		words[i] = args[i];
	return run_probe(words);
}

/* PROBE with relative names, in a directory that was entered by an O_PATH descriptor. */
int probe_in(char **args)
{
	int dir = open(args[0], O_PATH | O_DIRECTORY);

	return dir < 0 || fchdir(dir) < 0 ? setup(args[0]) : run_probe(args + 1);
}
