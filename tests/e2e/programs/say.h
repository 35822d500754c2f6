/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs say of each call: its result, or the name of its errno. */
#ifndef SAY_H
#define SAY_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns the result, so that a call can be said and used. */
static inline long say(const char *what, long result)
{
	if (result < 0)
		printf("%s: %s\n", what, strerrorname_np(errno));
	else
		printf("%s: %ld\n", what, result);
	fflush(stdout);
	return result;
}

/* The number of a descriptor or process is its own. */
static inline int made(const char *what, long result)
{
	say(what, result < 0 ? result : 0);
	return (int)result;
}

static inline void closed(int fd)
{
	if (fd >= 0)
		close(fd);
}

#endif
