// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "audit/events.h"
#include "audit/history.h"
#include "audit/store_internal.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"

#define JSON_LINE (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

static int write_line(struct bm_store *store, const char *line);

static int open_file(int dirfd, int *ret)
{
	autoclose fd =
		openat(dirfd, BM_STORE_NAME,
		       O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;
	char last;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* A line that a power cut left unfinished must not swallow the next one. */
	if (st.st_size && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n' &&
	    write(fd, "\n", 1) < 0)
		return -errno;
	*ret = TAKE_FD(fd);
	return 0;
}

/* The line becomes the store's. */
static void remember(struct bm_store *store, char *line)
{
	struct entry *entry = &store->entries[store->added % BM_STORE_EVENTS];

	if (entry->line) {
		bm_readers_evict(store, entry);
		free(entry->line);
	}
	entry->line = line;
	entry->is = bm_line_of(line);
	store->added++;
}

/* The file has it. */
static void stored(struct bm_store *store, const struct bm_line *line)
{
	struct bm_told_of *of = line->id ? bm_told_add(&store->told, line->id) : NULL;

	if (of && line->numbered && line->last > of->stored)
		of->stored = line->last;
}

/* What is in the file: of its end the lines, of all the numbers. */
static int look_back(struct bm_store *store)
{
	autohistory *history = NULL;
	const char *text;
	int r = bm_history_newest(store->dirfd, &history);

	while (r == 0 && (text = bm_history_next(history))) {
		struct bm_line line = bm_line_of(text);
		char *copy;

		bm_told_from_line(&store->told, text);
		stored(store, &line);
		if (!line.bench[0])
			continue;
		copy = strdup(text);
		if (copy)
			remember(store, copy);
		else
			r = -ENOMEM;
	}
	return r;
}

int bm_store_open(int dirfd, struct bm_store **ret, struct bm_error *err)
{
	struct bm_store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return bm_fail_errno(err, ENOMEM, BM_STORE_NAME);
	store->dirfd = dirfd;
	store->limits = (struct bm_stored_limits){ BM_STORE_FILE_MAX, INT64_MAX, INT64_MAX };
	store->packing = BM_PACKING_NONE;
	store->busy = true;
	r = open_file(dirfd, &store->fd);
	if (r == 0)
		r = look_back(store);
	if (r < 0) {
		bm_store_close(store);
		return bm_fail_errno(err, -r, BM_STORE_NAME);
	}
	*ret = store;
	return 0;
}

void bm_store_close(struct bm_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < BM_STORE_EVENTS; i++)
		free(store->entries[i].line);
	bm_pack_abandon(&store->packing, store->dirfd);
	bm_told_done(&store->told);
	bm_close(store->fd);
	free(store);
}

void bm_store_limit(struct bm_store *store, const struct bm_stored_limits *limits)
{
	store->limits = *limits;
}

/* The first line of a file makes those before it needless for whoever starts. */
static int begin_file(struct bm_store *store)
{
	autojson *json = NULL;
	struct stat st;

	if (!store->told.count || fstat(store->fd, &st) < 0 || st.st_size)
		return 0;
	json = bm_told_to_json(&store->told);
	return write_line(store, json_object_to_json_string_ext(json, JSON_LINE));
}

int bm_store_reopen(struct bm_store *store)
{
	int r;

	store->rotations++;
	bm_close(TAKE_FD(store->fd));
	r = open_file(store->dirfd, &store->fd);
	return r < 0 ? r : begin_file(store);
}

static int rotate(struct bm_store *store)
{
	int r = bm_stored_rotate(store->dirfd);

	if (r < 0)
		return r;
	store->busy = true;
	return bm_store_reopen(store);
}

static int write_line(struct bm_store *store, const char *line)
{
	size_t len = strlen(line);
	struct iovec iov[] = {
		{ (void *)(uintptr_t)line, len },
		{ (void *)(uintptr_t) "\n", 1 },
	};
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(store->fd, &st) < 0)
		return -errno;
	n = writev(store->fd, iov, 2);
	if (n == (ssize_t)len + 1)
		return 0;
	r = n < 0 ? -errno : -ENOSPC;
	/* Half a line would spoil the next one too; reopening ends it if cutting fails. */
	if (n > 0 && ftruncate(store->fd, st.st_size) < 0)
		bm_close(TAKE_FD(store->fd));
	return r;
}

static int make_room(struct bm_store *store, size_t len)
{
	struct stat st;
	int r = store->fd < 0 ? bm_store_reopen(store) : 0;

	if (r < 0)
		return r;
	if (fstat(store->fd, &st) < 0)
		return -errno;
	return st.st_size && st.st_size + (off_t)len + 1 > store->limits.file_bytes ? rotate(store)
										    : 0;
}

/* Numbers that could not be written when they came. */
static int write_missing(struct bm_store *store, const struct bm_line *line)
{
	struct bm_told_of *of = line->id ? bm_told_find(&store->told, line->id) : NULL;
	autojson *json = NULL;
	int r;

	if (!of || !line->numbered || line->first <= of->stored + 1)
		return 0;
	r = bm_event_suppressed(line->bench, line->id, bm_now_ns(CLOCK_REALTIME), of->stored + 1,
				line->first - 1, &json);
	if (r == 0)
		r = write_line(store, json_object_to_json_string_ext(json, JSON_LINE));
	if (r == 0)
		of->stored = line->first - 1;
	return r;
}

int bm_store_add(struct bm_store *store, struct json_object *event)
{
	const char *text = json_object_to_json_string_ext(event, JSON_LINE);
	char *line = text ? strdup(text) : NULL;
	struct bm_line is;
	int r;

	if (!line)
		return -ENOMEM;
	is = bm_line_of(line);
	if (is.id)
		bm_told_add(&store->told, is.id);
	r = make_room(store, strlen(line));
	if (r == 0)
		r = write_missing(store, &is);
	if (r == 0)
		r = write_line(store, line);
	if (r == 0)
		stored(store, &is);
	else
		store->unwritten++;
	remember(store, line);
	return r;
}

uint64_t bm_store_unwritten(const struct bm_store *store)
{
	return store->unwritten;
}

uint64_t bm_store_told(const struct bm_store *store, uint32_t id)
{
	const struct bm_told_of *of = bm_told_find(&store->told, id);

	return of ? of->stored : 0;
}

void bm_store_forget(struct bm_store *store, uint32_t id)
{
	bm_told_remove(&store->told, id);
}

void bm_store_keep(struct bm_store *store, bool (*alive)(void *ctx, uint32_t id), void *ctx)
{
	for (size_t i = store->told.count; i > 0; i--)
		if (!alive(ctx, store->told.list[i - 1].id))
			bm_told_remove(&store->told, store->told.list[i - 1].id);
}

bool bm_store_busy(const struct bm_store *store)
{
	return store->busy;
}

void bm_store_work(struct bm_store *store)
{
	if (store->busy)
		store->busy = bm_pack(&store->packing, store->dirfd) > 0;
	if (!store->busy)
		bm_stored_prune(store->dirfd, &store->limits);
}
