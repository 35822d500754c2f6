// SPDX-License-Identifier: GPL-2.0-only
/* The answer: a header, a record for each file, their paths, each with its NUL. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/memfd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/outputs_internal.h"

#define ANSWER_MAX                                                                                 \
	(sizeof(struct header) + BM_OUTPUTS_FILES * (sizeof(struct bm_output) + 1) +               \
	 BM_OUTPUTS_PATHS)

const char *const bm_outputs_bounds[BM_BOUND_MAX] = {
	[BM_BOUND_FILES] = "files", [BM_BOUND_ENTRIES] = "entries", [BM_BOUND_DEPTH] = "depth",
	[BM_BOUND_BYTES] = "bytes", [BM_BOUND_PATHS] = "paths",     [BM_BOUND_SECONDS] = "seconds",
};

struct header {
	struct bm_outputs_counts counts;
	uint64_t count;
};

void bm_outputs_done(struct bm_outputs *outputs)
{
	free(outputs->list);
	free(outputs->text);
	*outputs = (struct bm_outputs){};
}

struct bm_output *outputs_add(struct outputs_answer *a, const char *path)
{
	struct bm_output *grown = a->list;
	char *copy = strdup(path);

	if (copy && a->count == a->room) {
		a->room = a->room ? 2 * a->room : 64;
		grown = reallocarray(a->list, a->room, sizeof(*grown));
	}
	if (!copy || !grown) {
		free(copy);
		return NULL;
	}
	a->list = grown;
	a->counts.paths += strlen(path);
	a->list[a->count] = (struct bm_output){ .path = copy };
	return &a->list[a->count++];
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct bm_output *)a)->path, ((const struct bm_output *)b)->path);
}

int outputs_send(struct outputs_answer *a, int *ret_fd)
{
	struct header header = { a->counts, a->count };
	autoclose fd = memfd_create("benchmon", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : bm_write_all(fd, &header, sizeof(header));

	if (a->count)
		qsort(a->list, a->count, sizeof(a->list[0]), by_path);
	for (size_t i = 0; r == 0 && i < a->count; i++) {
		struct bm_output record = a->list[i];

		record.path = NULL;
		r = bm_write_all(fd, &record, sizeof(record));
	}
	for (size_t i = 0; i < a->count; i++) {
		if (r == 0)
			r = bm_write_all(fd, a->list[i].path, strlen(a->list[i].path) + 1);
		free((void *)(uintptr_t)a->list[i].path);
	}
	free(a->list);
	*a = (struct outputs_answer){};
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

static int take_records(const char *data, size_t size, struct bm_outputs *out)
{
	size_t records = out->count * sizeof(struct bm_output);
	char *at = out->text, *end = at + (size - records);

	memcpy(out->list, data, records);
	memcpy(out->text, data + records, size - records);
	for (size_t i = 0; i < out->count; i++) {
		char *nul = memchr(at, '\0', (size_t)(end - at));

		if (!nul || out->list[i].state >= BM_OUTPUT_STATE_MAX ||
		    out->list[i].error > INT32_MAX)
			return -EPROTO;
		out->list[i].path = at;
		at = nul + 1;
	}
	return at == end ? 0 : -EPROTO;
}

int outputs_take(int fd, struct bm_outputs *ret)
{
	autooutputs out = {};
	struct header header;
	autofree char *data = NULL;
	size_t size;
	int r = bm_read_fd(fd, ANSWER_MAX, &data, &size);

	if (r < 0)
		return r;
	if (size < sizeof(header))
		return -EPROTO;
	memcpy(&header, data, sizeof(header));
	size -= sizeof(header);
	if (header.count > BM_OUTPUTS_FILES || header.counts.bounds >> BM_BOUND_MAX ||
	    header.count * sizeof(struct bm_output) > size)
		return -EPROTO;
	out.counts = header.counts;
	out.count = header.count;
	out.list = calloc(out.count + 1, sizeof(*out.list));
	out.text = malloc(size + 1);
	if (!out.list || !out.text)
		return -ENOMEM;
	r = take_records(data + sizeof(header), size, &out);
	if (r < 0)
		return r;
	*ret = out;
	out = (struct bm_outputs){};
	return 0;
}
