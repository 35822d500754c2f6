// SPDX-License-Identifier: GPL-2.0-only
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/terminal.h"

/* One may be meant for the payload, two be one and an echo of it; three are an order. */
#define ENOUGH 3

static int pipe_fds[2] = { -1, -1 };
static volatile sig_atomic_t caught, count, resized;

static void handle(int sig)
{
	int saved = errno;

	if (sig == SIGWINCH)
		resized = 1;
	else if (!caught)
		caught = sig;
	if (sig == SIGINT && ++count >= ENOUGH) {
		cli_terminal_restore();
		_exit(128 + sig);
	}
	if (write(pipe_fds[1], "", 1) < 0)
		errno = EAGAIN; /* full: it will be looked at anyway */
	errno = saved;
}

int cli_signals_catch(struct bm_error *err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH };
	/* No SA_RESTART: who waits for an answer on the terminal must hear of it. */
	struct sigaction action = { .sa_handler = handle };

	if (pipe_fds[0] >= 0)
		return 0;
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return bm_fail_errno(err, errno, "pipe");
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction old;

		/* nohup and background jobs of a script have some ignored: they stay so. */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		if (sigaction(signals[i], &action, NULL) < 0)
			return bm_fail_errno(err, errno, "sigaction");
	}
	return 0;
}

int cli_interrupted(void)
{
	return caught;
}

int cli_signals_fd(void)
{
	return pipe_fds[0];
}

bool cli_signals_resized(void)
{
	char drop[64];
	bool was;

	while (pipe_fds[0] >= 0 && read(pipe_fds[0], drop, sizeof(drop)) > 0)
		;
	was = resized;
	resized = 0;
	return was;
}
