// SPDX-License-Identifier: GPL-2.0-only
/* Ways to get a file's bytes mapped executable. */
#include "payload.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LENGTH 4096

static int sharing(const char *how)
{
	return strcmp(how, "shared") ? MAP_PRIVATE : MAP_SHARED;
}

/* NULL when the file could not be opened or mapped with prot; errno says why. */
static void *mapped(const char *path, int mode, int prot, int flags)
{
	int fd = open(path, mode);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, LENGTH, prot, flags, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

int probe_map(char **args)
{
	int fd = open(args[0], O_RDONLY);

	if (fd < 0)
		return setup(args[0]);
	return mmap(NULL, LENGTH, PROT_READ | PROT_EXEC, sharing(args[1]), fd, 0) == MAP_FAILED
		       ? errno
		       : 0;
}

/* The old mmap, whose arguments lie in memory: it needs no sixth register. */
int probe_map32(char **args)
{
	int fd = open(args[0], O_RDONLY);
	uint32_t *call = (uint32_t *)low_string("");
	long r;

	if (fd < 0 || !call)
		return setup(args[0]);
	call[0] = 0;
	call[1] = LENGTH;
	call[2] = PROT_READ | PROT_EXEC;
	call[3] = MAP_PRIVATE;
	call[4] = (uint32_t)fd;
	call[5] = 0;
	r = call32(90, (long)call, 0, 0);
	return r < 0 && r > -4096 ? (int)-r : 0;
}

int probe_mprotect(char **args)
{
	void *map = mapped(args[0], O_RDONLY, PROT_READ, sharing(args[1]));

	return map ? outcome(mprotect(map, LENGTH, PROT_READ | PROT_EXEC)) : setup("mmap");
}

int probe_pkey(char **args)
{
	void *map = mapped(args[0], O_RDONLY, PROT_READ, sharing(args[1]));

	return map ? outcome(syscall(SYS_pkey_mprotect, map, LENGTH, PROT_READ | PROT_EXEC, -1))
		   : setup("mmap");
}

static bool executable(void *map)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], bits[8] = "";
	unsigned long start;
	bool found = false;

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%*x %4s", &start, bits) == 2 &&
			start == (unsigned long)map;
	return found && bits[2] == 'x';
}

/* On a noexec mount the kernel leaves the exec bit out of it: EPERM then. */
int probe_implied(char **args)
{
	int fd = open(args[0], O_RDONLY);
	void *map;

	if (fd < 0 || personality(READ_IMPLIES_EXEC) < 0)
		return setup(args[0]);
	map = mmap(NULL, LENGTH, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return errno;
	personality(0);
	return executable(map) ? 0 : EPERM;
}

/* Of an executable mapping, or, where that is refused, asking for what it must not give. */
int probe_remap(char **args)
{
	void *map = mapped(args[0], O_RDWR, PROT_READ | PROT_EXEC, MAP_SHARED);
	int prot = 0;

	if (!map) {
		map = mapped(args[0], O_RDWR, PROT_READ, MAP_SHARED);
		prot = PROT_EXEC;
	}
	return map ? outcome(syscall(SYS_remap_file_pages, map, LENGTH, prot, 0, 0))
		   : setup("mmap");
}
