// SPDX-License-Identifier: GPL-2.0-only
#include "cli/progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_S 2

static char line[72];
static size_t length;
static volatile sig_atomic_t shown;

/* A signal, because what takes long is one blocking call. */
static void show(int sig)
{
	(void)sig;
	if (write(STDERR_FILENO, line, length) > 0)
		shown = 1;
}

void cli_progress(const char *fmt, ...)
{
	struct sigaction action = { .sa_handler = show, .sa_flags = SA_RESTART };
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	length = strlen(line);
	shown = 0;
	sigaction(SIGALRM, &action, NULL);
	alarm(PATIENCE_S);
}

void cli_progress_done(void)
{
	static const char clear[] = "\r\033[K";

	alarm(0);
	if (shown && write(STDERR_FILENO, clear, sizeof(clear) - 1) > 0)
		shown = 0;
}
