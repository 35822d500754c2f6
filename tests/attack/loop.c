// SPDX-License-Identifier: GPL-2.0-only
/* What goes on while a grant is taken back, and when the last of it worked. */
#include "payload.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WARM 1000      /* successes before it says that it runs */
#define FAILURES 10000 /* after which it has seen enough */
#define READ_WARM 10000
#define READ_FAILURES 10000
#define MAX_THREADS 32

static const char *loop_path;
static atomic_ulong successes, failures, last_success, first_failure;

static void later(atomic_ulong *at, unsigned long value)
{
	unsigned long old = atomic_load(at);

	while (old < value && !atomic_compare_exchange_weak(at, &old, value))
		;
}

static void *open_again(void *arg)
{
	while (failures < FAILURES) {
		unsigned long start = now_ns(), none = 0;
		int fd = open(loop_path, O_RDONLY);

		if (fd >= 0) {
			close(fd);
			later(&last_success, start);
			if (++successes == WARM) {
				puts("running");
				fflush(stdout);
			}
		} else {
			failures++;
			atomic_compare_exchange_strong(&first_failure, &none, now_ns());
		}
	}
	return arg;
}

static int loop_fd;

static void *read_again(void *arg)
{
	while (failures < READ_FAILURES) {
		unsigned long start = now_ns();
		char byte;

		if (pread(loop_fd, &byte, 1, 0) < 0) {
			failures++;
			continue;
		}
		later(&last_success, start);
		if (++successes == READ_WARM) {
			puts("running");
			fflush(stdout);
		}
	}
	return arg;
}

static int in_threads(void *(*fn)(void *), const char *text)
{
	pthread_t threads[MAX_THREADS];
	int count = atoi(text);

	for (int i = 0; i < count && i < MAX_THREADS; i++)
		if (pthread_create(&threads[i], NULL, fn, NULL))
			return setup("thread");
	for (int i = 0; i < count && i < MAX_THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%lu %lu %lu\n", successes, failures, last_success);
	return 0;
}

/* The same with one descriptor. */
int tool_readers(char **args)
{
	loop_fd = open(args[0], O_RDONLY);
	return loop_fd < 0 ? setup(args[0]) : in_threads(read_again, args[1]);
}

/* Prints "running", later SUCCESSES FAILURES and when the last success started. */
int tool_loop(char **args)
{
	loop_path = args[0];
	return in_threads(open_again, args[1]);
}

/* The rest of the arguments once a line has come in: by then the test may have moved it. */
int tool_hold(char **args)
{
	char byte;

	puts("holding");
	fflush(stdout);
	while (read(0, &byte, 1) == 1 && byte != '\n')
		;
	return run_probe(args);
}

int tool_stay(char **args)
{
	(void)args;
	signal(SIGUSR1, SIG_IGN);
	puts("staying");
	fflush(stdout);
	for (;;)
		pause();
}
