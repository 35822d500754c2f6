// SPDX-License-Identifier: GPL-2.0-only
/* procfs, sysfs, devices. */
#include "payload.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int read_all(const char *path)
{
	char buf[4096];
	int fd = open(path, O_RDONLY), r;
	ssize_t n;

	if (fd < 0)
		return errno;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		;
	r = n < 0 && errno != EISDIR ? errno : 0;
	close(fd);
	return r;
}

/* Each to its end: what is read counts, not what is opened. */
int probe_reads(char **args)
{
	for (; *args; args++) {
		int r = read_all(*args);

		if (r) {
			fprintf(stderr, "%s: %s\n", *args, strerror(r));
			return r;
		}
	}
	return 0;
}

int probe_write(char **args)
{
	int fd = open(args[0], O_WRONLY);

	return outcome(fd < 0 ? -1 : write(fd, args[1], strlen(args[1])));
}

int tool_write_fd(char **args)
{
	return outcome(write(atoi(args[0]), args[1], strlen(args[1])));
}

int probe_device(char **args)
{
	mode_t type = *args[1] == 'b' ? S_IFBLK : S_IFCHR;
	dev_t dev = makedev((unsigned)atoi(args[2]), (unsigned)atoi(args[3]));

	return outcome(mknod(args[0], type | 0666, dev));
}
