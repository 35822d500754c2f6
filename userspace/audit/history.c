// SPDX-License-Identifier: GPL-2.0-only
#include "audit/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/peek.h"
#include "audit/stored.h"
#include "audit/told.h"
#include "base/cleanup.h"

/* What a file begins with names every Bench. */
#define LINE_MAX_BYTES (512 << 10)

struct bm_history {
	int dirfd;
	struct bm_stored *files;
	size_t count, at; /* at == count: the newest, which has no number */
	gzFile file;      /* NULL: the one at `at` is to be opened */
	char line[LINE_MAX_BYTES];
};

/* Compressed or not: zlib reads both. Between list and open one may have been zipped. */
static gzFile open_file(int dirfd, const struct bm_stored *stored)
{
	char name[BM_STORED_NAME] = BM_STORE_NAME;
	gzFile file;
	int fd;

	if (stored)
		bm_stored_name(stored->number, stored->zipped, name);
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && stored && !stored->zipped)
		fd = openat(dirfd, bm_stored_name(stored->number, true, name),
			    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	file = gzdopen(fd, "rb");
	if (!file)
		close(fd);
	return file;
}

static struct bm_history *new_history(int dirfd)
{
	struct bm_history *history = calloc(1, sizeof(*history));

	if (history)
		history->dirfd = dirfd;
	return history;
}

int bm_history_newest(int dirfd, struct bm_history **ret)
{
	struct bm_history *history = new_history(dirfd);

	if (!history)
		return -ENOMEM;
	*ret = history;
	return 0;
}

/* Nothing that is asked for stands in a file before this one. */
static bool begins_before(struct bm_history *history, uint32_t id, uint64_t since)
{
	const struct bm_stored *stored =
		history->at < history->count ? &history->files[history->at] : NULL;
	gzFile file = open_file(history->dirfd, stored);
	struct bm_told told = {};
	struct bm_told_of *of;
	char type[16];
	bool begins;

	if (!file)
		return false;
	begins = gzgets(file, history->line, sizeof(history->line)) &&
		 !strcmp(bm_peek_string(history->line, "type", type, sizeof(type)), "begin");
	gzclose(file);
	if (!begins)
		return false;
	history->line[strcspn(history->line, "\n")] = '\0';
	bm_told_from_line(&told, history->line);
	of = bm_told_find(&told, id);
	begins = !of || of->stored <= since;
	bm_told_done(&told);
	return begins;
}

int bm_history_since(int dirfd, uint32_t id, uint64_t since, struct bm_history **ret)
{
	struct bm_history *history = new_history(dirfd);
	int r;

	if (!history)
		return -ENOMEM;
	r = bm_stored_list(dirfd, &history->files, &history->count);
	if (r < 0) {
		bm_history_close(history);
		return r;
	}
	if (id)
		for (history->at = history->count; history->at; history->at--)
			if (begins_before(history, id, since))
				break;
	*ret = history;
	return 0;
}

const char *bm_history_next(struct bm_history *history)
{
	for (; history->at <= history->count; history->at++) {
		if (!history->file)
			history->file = open_file(
				history->dirfd,
				history->at < history->count ? &history->files[history->at] : NULL);
		while (history->file &&
		       gzgets(history->file, history->line, sizeof(history->line))) {
			size_t len = strlen(history->line);

			/* A part of one, or cut by a crash. */
			if (!len || history->line[len - 1] != '\n' || history->line[0] != '{')
				continue;
			history->line[len - 1] = '\0';
			return history->line;
		}
		if (history->file)
			gzclose(history->file);
		history->file = NULL;
	}
	return NULL;
}

void bm_history_close(struct bm_history *history)
{
	if (!history)
		return;
	if (history->file)
		gzclose(history->file);
	free(history->files);
	free(history);
}
