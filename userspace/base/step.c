// SPDX-License-Identifier: GPL-2.0-only
#include "base/step.h"

#ifdef BM_STEPS
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
#define X(name) #name,
	BM_STEPS_ALL(X)
#undef X
};

static const char *path;
static pid_t own;
static unsigned times[BM_STEP_MAX];

/* Of the process that was started, not of the helpers that it forks. */
__attribute__((constructor)) static void begin(void)
{
	path = getenv("BENCHMON_STEPS");
	own = getpid();
	if (!path || strcmp(path, "list"))
		return;
	for (int i = 0; i < BM_STEP_MAX; i++)
		dprintf(STDOUT_FILENO, "%s\n", names[i]);
	_exit(0);
}

static void say(const char *file, const char *name)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%s\n", name);
	int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, line, (size_t)len) != len)
		abort();
	close(fd);
}

void bm_step(enum bm_step step)
{
	char what[256] = "", word[8] = "", name[200] = "";
	unsigned due = 1;
	int fd;

	if (!path || getpid() != own)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, what, sizeof(what) - 1) < 0)
		abort();
	if (sscanf(what, "%7s %199s %u", word, name, &due) >= 2) {
		if (!strcmp(word, "trace"))
			say(name, names[step]);
		if (!strcmp(word, "kill") && !strcmp(name, names[step]) && ++times[step] == due) {
			if (ftruncate(fd, 0) < 0)
				abort();
			kill(own, SIGKILL);
		}
	}
	close(fd);
}
#endif
