// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/places.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"

#define TEXT_MAX (4 << 20)

void places_watch(struct places *places, int fd)
{
	places_close(places);
	places->fd = fd;
}

void places_close(struct places *places)
{
	bm_mounts_done(&places->mounts);
	bm_close(places->fd);
	*places = PLACES_NONE;
}

/* The kernel says once that something was mounted or unmounted since it was last asked. */
static bool has_changed(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLPRI };

	return poll(&polled, 1, 0) > 0 && polled.revents & (POLLPRI | POLLERR);
}

static int look(struct places *places)
{
	struct bm_mounts mounts;
	char *text;
	int r;

	if (places->fd < 0)
		return -ENOENT;
	if (!has_changed(places->fd) && places->read)
		return 0;
	if (lseek(places->fd, 0, SEEK_SET) < 0)
		return -errno;
	r = bm_read_fd(places->fd, TEXT_MAX, &text, NULL);
	if (r == 0)
		r = bm_mounts_parse(text, &mounts);
	if (r < 0)
		return r;
	bm_mounts_done(&places->mounts);
	places->mounts = mounts;
	places->read = true;
	return 0;
}

/* What is behind root, with its slash; NULL: it is not below it. */
static const char *below(const char *path, const char *root)
{
	size_t len = strlen(root);

	if (!strcmp(root, "/"))
		return path;
	if (strncmp(path, root, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

int places_find(struct places *places, uint32_t major, uint32_t minor, const char *path, bool whole,
		char *buf, size_t size)
{
	const struct bm_mount *best = NULL;
	char shown[1024];
	const char *rest;
	int r = look(places);

	if (r < 0)
		return r;
	for (size_t i = 0; i < places->mounts.count; i++) {
		const struct bm_mount *m = &places->mounts.list[i];
		size_t len = strlen(m->root);

		if (m->major != major || m->minor != minor || !below(path, m->root))
			continue;
		if (!best || (whole ? len < strlen(best->root) : len > strlen(best->root)))
			best = m;
	}
	if (!best)
		return -ENOENT;
	rest = below(path, best->root);
	if (!strcmp(best->target, "/"))
		snprintf(buf, size, "%s", *rest ? rest : "/");
	else
		snprintf(buf, size, "%s%s", bm_escape(best->target, shown, sizeof(shown)),
			 strcmp(rest, "/") ? rest : "");
	return 0;
}
