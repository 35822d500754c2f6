// SPDX-License-Identifier: GPL-2.0-only
/* Names that change places while they are opened. What must never be read begins with '!'. */
#include "payload.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL_EVERY 8

static char **moves;
static atomic_bool stop;
static unsigned long moved;

/* "A=B": they are exchanged; "A>B": A becomes B. */
static bool move(const char *spec)
{
	size_t len = strcspn(spec, "=>");
	char from[512];

	snprintf(from, sizeof(from), "%.*s", (int)len, spec);
	return renameat2(AT_FDCWD, from, AT_FDCWD, spec + len + 1,
			 spec[len] == '=' ? RENAME_EXCHANGE : 0) == 0;
}

static void *move_all(void *arg)
{
	while (!stop)
		for (char **at = moves; *at; at++)
			moved += move(*at);
	return arg;
}

static unsigned long forbidden, allowed;

static void look(const char *path, int flags)
{
	int fd = open(path, flags);
	char byte;

	if (fd < 0)
		return;
	if (read(fd, &byte, 1) != 1 || byte == '!')
		forbidden++;
	else
		allowed++;
	close(fd);
}

/* COUNT r|rw PATH CONTROL MOVE...: prints OPENS FORBIDDEN ALLOWED MOVES */
int tool_race(char **args)
{
	int flags = !strcmp(args[1], "rw") ? O_RDWR : O_RDONLY;
	long count = atol(args[0]);
	pthread_t thread;

	moves = args + 4;
	if (pthread_create(&thread, NULL, move_all, NULL))
		return setup("thread");
	for (long i = 0; i < count; i++) {
		look(args[2], flags);
		if (i % CONTROL_EVERY == 0)
			look(args[3], flags);
	}
	stop = true;
	pthread_join(thread, NULL);
	printf("%ld %lu %lu %lu\n", count, forbidden, allowed, moved);
	return 0;
}

static void end(int sig)
{
	(void)sig;
	stop = true;
}

/* Outside: MOVE... over and over until SIGTERM; then prints how many succeeded. */
int tool_swap(char **args)
{
	moves = args;
	signal(SIGTERM, end);
	for (char **at = moves; *at; at++)
		if (!move(*at))
			return setup(*at);
	puts("swapping");
	fflush(stdout);
	move_all(NULL);
	printf("%lu\n", moved);
	return 0;
}

/* COUNT PATH: 0 when one child of so many could open it. */
int probe_forks(char **args)
{
	int failed = EAGAIN;

	for (int n = atoi(args[0]); n > 0; n--) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(opened(open(args[1], O_RDONLY)));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return setup("fork");
		if (!WEXITSTATUS(status))
			return 0;
		failed = WEXITSTATUS(status);
	}
	return failed;
}

/* COUNT PATH */
int tool_flood(char **args)
{
	int r = 0;

	for (int n = atoi(args[0]); n > 0; n--)
		r = opened(open(args[1], O_RDONLY));
	return r;
}
