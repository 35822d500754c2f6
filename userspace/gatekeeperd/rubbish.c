// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/rubbish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/box.h"
#include "bench/launcher.h"

static void on_removed(struct daemon *d, struct watch *w, uint32_t events)
{
	int status = 0;

	(void)events;
	daemon_unwatch(d, w);
	bm_close(w->fd);
	w->fd = -1;
	while (waitpid(d->remover, &status, 0) < 0 && errno == EINTR)
		;
	d->remover = 0;
	/* Tried again with the next that ends, and at the next start. */
	if (status)
		daemon_log(LOG_LEVEL_ERROR,
			   "what an ended Bench left below " BM_BOX_GONE " could not be removed");
	else
		rubbish_collect(d);
}

static int begin(struct daemon *d, const char *path)
{
	autoclose null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid = null < 0 ? -errno
			     : bm_launch(BM_LAUNCH_REMOVE, path, strlen(path) + 1,
					 (int[]){ null, null }, 2);

	if (pid < 0)
		return pid;
	d->remover = pid;
	d->rubbish =
		(struct watch){ .fd = (int)syscall(SYS_pidfd_open, pid, 0), .ready = on_removed };
	return d->rubbish.fd < 0 ? -errno : daemon_watch(d, &d->rubbish, EPOLLIN);
}

void rubbish_collect(struct daemon *d)
{
	char path[256];
	int r = 0;

	/* Without a pidfd it is not told of the end, and waits for it here. */
	if (d->remover && d->rubbish.fd < 0) {
		waitpid(d->remover, NULL, 0);
		d->remover = 0;
	}
	if (!d->remover && bm_box_gone(path, sizeof(path)))
		r = begin(d, path);
	if (r < 0)
		daemon_log(LOG_LEVEL_ERROR, "remove %s: %s", path, strerror(-r));
}
