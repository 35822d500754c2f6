// SPDX-License-Identifier: GPL-2.0-only
#include "audit/stored.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PACKING_NAME "events.packing"
#define PIECE (128 << 10)

const char *bm_stored_name(uint64_t number, bool zipped, char buf[BM_STORED_NAME])
{
	snprintf(buf, BM_STORED_NAME, "events-%" PRIu64 ".jsonl%s", number, zipped ? ".gz" : "");
	return buf;
}

/* Only what bm_stored_name() would call it. */
static bool parse(const char *name, struct bm_stored *ret)
{
	char again[BM_STORED_NAME];

	if (sscanf(name, "events-%" SCNu64, &ret->number) != 1)
		return false;
	for (int zipped = 0; zipped < 2; zipped++) {
		ret->zipped = zipped;
		if (!strcmp(name, bm_stored_name(ret->number, zipped, again)))
			return true;
	}
	return false;
}

static int by_number(const void *a, const void *b)
{
	const struct bm_stored *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (int)x->zipped - (int)y->zipped;
}

/* A crash leaves one of both forms: the zipped one may be a part. */
static size_t without_doubles(struct bm_stored *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!kept || list[kept - 1].number != list[i].number)
			list[kept++] = list[i];
	return kept;
}

static int add(struct bm_stored **list, size_t *count, const struct bm_stored *one)
{
	struct bm_stored *grown = reallocarray(*list, *count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	*list = grown;
	grown[(*count)++] = *one;
	return 0;
}

int bm_stored_list(int dirfd, struct bm_stored **ret, size_t *ret_count)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct bm_stored *list = NULL, one;
	size_t count = 0;
	struct dirent *entry;
	int r = dir ? 0 : -errno;

	if (!dir && fd >= 0)
		close(fd);
	while (r == 0 && (errno = 0, entry = readdir(dir)))
		if (parse(entry->d_name, &one))
			r = add(&list, &count, &one);
	if (r == 0 && errno)
		r = -errno;
	if (dir)
		closedir(dir);
	if (r < 0) {
		free(list);
		return r;
	}
	if (count)
		qsort(list, count, sizeof(*list), by_number);
	*ret = list;
	*ret_count = without_doubles(list, count);
	return 0;
}

int bm_stored_rotate(int dirfd)
{
	autofree struct bm_stored *list = NULL;
	char name[BM_STORED_NAME];
	size_t count;
	int r = bm_stored_list(dirfd, &list, &count);

	if (r < 0)
		return r;
	bm_stored_name(count ? list[count - 1].number + 1 : 1, false, name);
	return renameat(dirfd, BM_STORE_NAME, dirfd, name) < 0 ? -errno : 0;
}

void bm_stored_prune(int dirfd, const struct bm_stored_limits *limits)
{
	autofree struct bm_stored *list = NULL;
	time_t now = time(NULL);
	char name[BM_STORED_NAME];
	int64_t total = 0;
	size_t count, i;

	if (bm_stored_list(dirfd, &list, &count) < 0)
		return;
	/* From the newest on; from the first that is too much on, all are. */
	for (i = count; i > 0; i--) {
		struct stat st;

		bm_stored_name(list[i - 1].number, list[i - 1].zipped, name);
		if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		total += st.st_size;
		if (total > limits->total_bytes || now - st.st_mtime > limits->seconds)
			break;
	}
	for (; i > 0; i--) {
		unlinkat(dirfd, bm_stored_name(list[i - 1].number, false, name), 0);
		unlinkat(dirfd, bm_stored_name(list[i - 1].number, true, name), 0);
	}
}

void bm_pack_abandon(struct bm_packing *packing, int dirfd)
{
	if (packing->in < 0)
		return;
	gzclose(packing->out);
	close(packing->in);
	unlinkat(dirfd, PACKING_NAME, 0);
	*packing = BM_PACKING_NONE;
}

/* 0: there is none. */
static int begin(struct bm_packing *packing, int dirfd)
{
	autofree struct bm_stored *list = NULL;
	autoclose in = -1;
	autoclose out = -1;
	char name[BM_STORED_NAME];
	size_t count, i = 0;
	int r = bm_stored_list(dirfd, &list, &count);

	while (r == 0 && i < count && list[i].zipped)
		i++;
	if (r < 0 || i == count)
		return r;
	in = openat(dirfd, bm_stored_name(list[i].number, false, name),
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	unlinkat(dirfd, PACKING_NAME, 0);
	out = openat(dirfd, PACKING_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (in < 0 || out < 0)
		return -errno;
	packing->out = gzdopen(out, "wb1");
	if (!packing->out)
		return -ENOMEM;
	TAKE_FD(out);
	packing->in = TAKE_FD(in);
	packing->number = list[i].number;
	return 1;
}

/* It takes the place of the plain one, and has its age. */
static int finish(struct bm_packing *packing, int dirfd)
{
	char plain[BM_STORED_NAME], zipped[BM_STORED_NAME];
	struct stat st;
	int r = fstat(packing->in, &st) < 0 ? -errno : 0;

	close(packing->in);
	packing->in = -1;
	if (gzclose(packing->out) != Z_OK)
		r = -EIO;
	bm_stored_name(packing->number, false, plain);
	bm_stored_name(packing->number, true, zipped);
	if (r == 0) {
		struct timespec times[] = { st.st_atim, st.st_mtim };

		utimensat(dirfd, PACKING_NAME, times, AT_SYMLINK_NOFOLLOW);
		r = renameat(dirfd, PACKING_NAME, dirfd, zipped) < 0 ? -errno : 0;
	}
	if (r < 0) {
		unlinkat(dirfd, PACKING_NAME, 0);
		return r;
	}
	return unlinkat(dirfd, plain, 0) < 0 ? -errno : 1;
}

int bm_pack(struct bm_packing *packing, int dirfd)
{
	autofree char *piece = malloc(PIECE);
	ssize_t n;
	int r = piece ? 1 : -ENOMEM;

	if (r > 0 && packing->in < 0)
		r = begin(packing, dirfd);
	if (r <= 0)
		return r;
	n = read(packing->in, piece, PIECE);
	if (n == 0)
		return finish(packing, dirfd);
	if (n > 0 && gzwrite(packing->out, piece, (unsigned int)n) == n)
		return 1;
	r = n < 0 ? -errno : -EIO;
	bm_pack_abandon(packing, dirfd);
	return r;
}
