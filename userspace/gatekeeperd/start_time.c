// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "gatekeeperd/model.h"

uint64_t pid_start_time(pid_t pid)
{
	autofree char *text = NULL;
	char path[64], *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (bm_read_file(AT_FDCWD, path, 4096, &text, NULL) < 0)
		return 0;
	/* comm may hold anything, also ") ": the last one ends it. */
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}
