// SPDX-License-Identifier: GPL-2.0-only
#include "audit/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/ledger.h"
#include "base/cleanup.h"

#define FILES_MAX 4096

/* "ledger-12.jsonl" or with something behind it. */
static bool is_old(const char *name, struct bm_ledger_entry *ret)
{
	unsigned long number;
	char *end;

	if (strncmp(name, BM_LEDGER_OLD, sizeof(BM_LEDGER_OLD) - 1))
		return false;
	name += sizeof(BM_LEDGER_OLD) - 1;
	if (*name < '1' || *name > '9')
		return false;
	errno = 0;
	number = strtoul(name, &end, 10);
	if (errno || number >= UINT32_MAX ||
	    strncmp(end, BM_LEDGER_SUFFIX, sizeof(BM_LEDGER_SUFFIX) - 1))
		return false;
	end += sizeof(BM_LEDGER_SUFFIX) - 1;
	if (*end && *end != '.')
		return false;
	*ret = (struct bm_ledger_entry){ .number = (uint32_t)number, .compressed = *end };
	return true;
}

static int by_number(const void *left, const void *right)
{
	const struct bm_ledger_entry *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (int)a->compressed - (int)b->compressed;
}

static int collect(DIR *dir, struct bm_ledger_entry *list, size_t *count)
{
	struct dirent *entry;

	while ((errno = 0, entry = readdir(dir))) {
		struct bm_ledger_entry *e = &list[*count];

		if (!is_old(entry->d_name, e))
			continue;
		if ((size_t)snprintf(e->name, sizeof(e->name), "%s", entry->d_name) >=
		    sizeof(e->name))
			continue;
		if (++*count == FILES_MAX)
			return -E2BIG;
	}
	return -errno;
}

int bm_ledger_files(int dirfd, struct bm_ledger_entry **ret, size_t *ret_count,
		    struct bm_error *err)
{
	autofree struct bm_ledger_entry *list = calloc(FILES_MAX + 1, sizeof(*list));
	autoclose fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclosedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0, kept = 0;
	int r;

	if (!dir || !list)
		return bm_fail_errno(err, errno ?: ENOMEM, BM_LEDGER_DIR);
	TAKE_FD(fd);
	r = collect(dir, list, &count);
	if (r < 0)
		return bm_fail_errno(err, -r, BM_LEDGER_DIR);
	qsort(list, count, sizeof(*list), by_number);
	for (size_t i = 0; i < count; i++)
		if (!kept || list[kept - 1].number != list[i].number)
			list[kept++] = list[i];
	list[kept] = (struct bm_ledger_entry){ .number = UINT32_MAX };
	snprintf(list[kept++].name, sizeof(list->name), BM_LEDGER_NAME);
	*ret = TAKE_PTR(list);
	*ret_count = kept;
	return 0;
}
