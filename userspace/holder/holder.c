// SPDX-License-Identifier: GPL-2.0-only
/*
 * PID 1 of a Bench: reaps orphans, passes signals on, and holds the namespaces. Its end is the end
 * of the Bench. Static and without options: there is nothing else in its root file system that it
 * could rely on.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (;;) {
		siginfo_t info;
		int signal = sigwaitinfo(&all, &info);

		if (signal < 0 && errno != EINTR)
			return 1;
		if (signal == SIGCHLD)
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
		else if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
			kill(-1, signal); /* everybody in the Bench but this process */
	}
}
