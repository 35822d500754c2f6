// SPDX-License-Identifier: GPL-2.0-only
#include "audit/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"

struct entry {
	char *line;
	uint64_t seq; /* 0: none */
	uint32_t owner;
	char bench[BM_BENCH_NAME_LEN];
};

struct bm_store {
	int dirfd;
	int fd;
	uint64_t added; /* position of the next entry; position % BM_STORE_EVENTS is its place */
	uint64_t unwritten;
	int64_t file_max;
	struct bm_reader *readers;
	struct entry entries[BM_STORE_EVENTS];
};

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

int bm_store_open(int dirfd, struct bm_store **ret, struct bm_error *err)
{
	struct bm_store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return bm_fail_errno(err, ENOMEM, BM_STORE_NAME);
	store->dirfd = dirfd;
	store->file_max = BM_STORE_FILE_MAX;
	r = open_file(dirfd, &store->fd);
	if (r < 0) {
		free(store);
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
	bm_close(store->fd);
	free(store);
}

void bm_store_limit(struct bm_store *store, int64_t bytes)
{
	store->file_max = bytes;
}

int bm_store_reopen(struct bm_store *store)
{
	bm_close(TAKE_FD(store->fd));
	return open_file(store->dirfd, &store->fd);
}

static int rotate(struct bm_store *store)
{
	if (renameat(store->dirfd, BM_STORE_NAME, store->dirfd, BM_STORE_ROTATED) < 0)
		return -errno;
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

	r = store->fd < 0 ? bm_store_reopen(store) : 0;
	if (r < 0)
		return r;
	if (fstat(store->fd, &st) < 0)
		return -errno;
	if (st.st_size && st.st_size + (off_t)len + 1 > store->file_max) {
		r = rotate(store);
		if (r < 0)
			return r;
		st.st_size = 0;
	}
	n = writev(store->fd, iov, 2);
	if (n == (ssize_t)len + 1)
		return 0;
	r = n < 0 ? -errno : -ENOSPC;
	/* Half a line would spoil the next one too; reopening ends it if cutting fails. */
	if (n > 0 && ftruncate(store->fd, st.st_size) < 0)
		bm_close(TAKE_FD(store->fd));
	return r;
}

static bool matches(const struct bm_reader *reader, const struct entry *entry)
{
	return (!reader->owner || reader->owner == entry->owner) &&
	       (!reader->bench[0] || !strcmp(reader->bench, entry->bench)) &&
	       (!entry->seq || entry->seq > reader->since);
}

/* The oldest entry makes room; a reader that has not come to it will never see it. */
static void evict(struct bm_store *store, struct entry *entry)
{
	uint64_t position = store->added - BM_STORE_EVENTS;

	for (struct bm_reader *r = store->readers; r; r = r->next) {
		if (r->position > position)
			continue;
		if (matches(r, entry))
			r->missed++;
		r->position = position + 1;
	}
	free(entry->line);
}

int bm_store_add(struct bm_store *store, struct json_object *event)
{
	struct entry *entry = &store->entries[store->added % BM_STORE_EVENTS];
	struct json_object *seq = bm_json_get(event, "seq", json_type_int);
	struct json_object *owner = bm_json_get(event, "owner", json_type_int);
	const char *text, *bench = bm_json_string(event, "bench");
	char *line;
	int r;

	text = json_object_to_json_string_ext(event, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE);
	line = text ? strdup(text) : NULL;
	if (!line)
		return -ENOMEM;
	if (entry->line)
		evict(store, entry);
	entry->line = line;
	entry->seq = seq ? json_object_get_uint64(seq) : 0;
	entry->owner = owner ? (uint32_t)json_object_get_int64(owner) : 0;
	snprintf(entry->bench, sizeof(entry->bench), "%s", bench ?: "");
	store->added++;
	r = write_line(store, line);
	if (r < 0)
		store->unwritten++;
	return r;
}

uint64_t bm_store_unwritten(const struct bm_store *store)
{
	return store->unwritten;
}

void bm_reader_attach(struct bm_reader *reader, struct bm_store *store, const char *bench,
		      uint64_t since)
{
	*reader = (struct bm_reader){ .store = store, .since = since, .next = store->readers };
	snprintf(reader->bench, sizeof(reader->bench), "%s", bench ?: "");
	if (store->added > BM_STORE_EVENTS)
		reader->position = store->added - BM_STORE_EVENTS;
	store->readers = reader;
}

void bm_reader_only(struct bm_reader *reader, uint32_t owner)
{
	reader->owner = owner;
}

uint64_t bm_store_position(const struct bm_store *store)
{
	return store->added;
}

void bm_reader_from(struct bm_reader *reader, uint64_t position)
{
	if (position > reader->position)
		reader->position = position;
}

void bm_reader_skip(struct bm_reader *reader)
{
	reader->position = reader->store->added;
	reader->missed = 0;
}

void bm_reader_detach(struct bm_reader *reader)
{
	struct bm_reader **p;

	if (!reader->store)
		return;
	for (p = &reader->store->readers; *p && *p != reader; p = &(*p)->next)
		;
	if (*p)
		*p = reader->next;
	reader->store = NULL;
}

bool bm_reader_next(struct bm_reader *reader, const char **ret_line, uint64_t *ret_missed)
{
	struct bm_store *store = reader->store;

	while (reader->position < store->added) {
		struct entry *entry = &store->entries[reader->position++ % BM_STORE_EVENTS];

		if (!matches(reader, entry))
			continue;
		*ret_line = entry->line;
		*ret_missed = reader->missed;
		reader->missed = 0;
		return true;
	}
	return false;
}
