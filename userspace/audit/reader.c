// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "audit/history.h"
#include "audit/store_internal.h"

/* So many lines of files are looked at in a row. */
#define LINES_AT_ONCE 4096

static bool is_for(const struct bm_reader *reader, const struct bm_line *line)
{
	return (!reader->owner || reader->owner == line->owner) &&
	       (!reader->bench[0] || !strcmp(reader->bench, line->bench)) &&
	       (!reader->id || reader->id == line->id);
}

static bool matches(const struct bm_reader *reader, const struct bm_line *line)
{
	if (!is_for(reader, line))
		return false;
	return line->numbered ? line->last > reader->since
			      : !reader->since || line->last >= reader->since || !line->id;
}

static uint64_t oldest(const struct bm_store *store)
{
	return store->added > BM_STORE_EVENTS ? store->added - BM_STORE_EVENTS : 0;
}

void bm_readers_evict(struct bm_store *store, const struct entry *entry)
{
	uint64_t position = store->added - BM_STORE_EVENTS;

	for (struct bm_reader *r = store->readers; r; r = r->next) {
		if (r->position > position || r->history)
			continue;
		if (matches(r, &entry->is))
			r->missed++;
		r->position = position + 1;
	}
}

void bm_reader_attach(struct bm_reader *reader, struct bm_store *store, const char *bench,
		      uint64_t since)
{
	*reader = (struct bm_reader){
		.store = store, .since = since, .position = oldest(store), .next = store->readers
	};
	snprintf(reader->bench, sizeof(reader->bench), "%s", bench ?: "");
	store->readers = reader;
}

void bm_reader_only(struct bm_reader *reader, uint32_t owner)
{
	reader->owner = owner;
}

void bm_reader_of(struct bm_reader *reader, uint32_t id)
{
	reader->id = id;
}

/* What memory has begins no later than with the event that is due. */
static bool in_memory(const struct bm_reader *reader, uint64_t due)
{
	const struct bm_store *store = reader->store;

	for (uint64_t at = oldest(store); at < store->added; at++) {
		const struct bm_line *line = &store->entries[at % BM_STORE_EVENTS].is;

		if (is_for(reader, line) && line->numbered)
			return line->first <= due;
	}
	return false;
}

static int open_files(struct bm_reader *reader)
{
	reader->rotations = reader->store->rotations;
	return bm_history_since(reader->store->dirfd, reader->id, reader->told, &reader->history);
}

/* From the files, unless memory has it all. */
static int look_back(struct bm_reader *reader)
{
	return in_memory(reader, reader->told + 1) ? 0 : open_files(reader);
}

int bm_reader_resume(struct bm_reader *reader)
{
	reader->resumes = true;
	reader->told = reader->since;
	return look_back(reader);
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
	bm_history_close(reader->history);
	reader->history = NULL;
	for (p = &reader->store->readers; *p && *p != reader; p = &(*p)->next)
		;
	if (*p)
		*p = reader->next;
	reader->store = NULL;
}

/* Whether it gets this one; and how many it should have had before. */
static bool take(struct bm_reader *reader, const struct bm_line *line, uint64_t *ret_missed)
{
	/* The numbers of a namesake begin anew. */
	if (reader->resumes && is_for(reader, line) && line->id > reader->telling) {
		reader->telling = line->id;
		reader->told = reader->since;
	}
	if (!matches(reader, line) || (line->numbered && line->last <= reader->told))
		return false;
	if (reader->resumes)
		*ret_missed = line->numbered && line->first > reader->told + 1
				      ? line->first - reader->told - 1
				      : 0;
	else
		*ret_missed = reader->missed;
	reader->missed = 0;
	if (line->numbered && reader->resumes)
		reader->told = line->last;
	return true;
}

/*
 * What was in the newest file by now is in memory too, and was read: it goes on behind that. Unless
 * that file is not the newest any more.
 */
static enum bm_reader_state end_of_files(struct bm_reader *reader)
{
	const struct bm_store *store = reader->store;

	bm_history_close(reader->history);
	reader->history = NULL;
	reader->position = store->added;
	reader->missed = 0;
	if (reader->rotations == store->rotations)
		return BM_READER_EMPTY;
	reader->since = reader->told;
	return open_files(reader) < 0 ? BM_READER_EMPTY : BM_READER_MORE;
}

static enum bm_reader_state from_files(struct bm_reader *reader, const char **ret_line,
				       uint64_t *ret_missed)
{
	for (int i = 0; i < LINES_AT_ONCE; i++) {
		const char *text = bm_history_next(reader->history);
		struct bm_line line;

		if (!text)
			return end_of_files(reader);
		line = bm_line_of(text);
		if (!line.bench[0] || !take(reader, &line, ret_missed))
			continue;
		*ret_line = text;
		return BM_READER_LINE;
	}
	return BM_READER_MORE;
}

enum bm_reader_state bm_reader_next(struct bm_reader *reader, const char **ret_line,
				    uint64_t *ret_missed)
{
	struct bm_store *store = reader->store;

	/* What memory has lost meanwhile is in a file. */
	if (reader->resumes && reader->missed && !reader->history && look_back(reader) < 0)
		return BM_READER_EMPTY;
	if (reader->history) {
		enum bm_reader_state state = from_files(reader, ret_line, ret_missed);

		if (state != BM_READER_EMPTY)
			return state;
	}
	for (; reader->position < store->added; reader->position++) {
		struct entry *entry = &store->entries[reader->position % BM_STORE_EVENTS];

		if (!take(reader, &entry->is, ret_missed))
			continue;
		reader->position++;
		*ret_line = entry->line;
		return BM_READER_LINE;
	}
	return BM_READER_EMPTY;
}
