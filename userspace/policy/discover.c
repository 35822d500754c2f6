// SPDX-License-Identifier: GPL-2.0-only
/* The files of an image, and the helper that reads them. */
#include "policy/discover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/memfd.h>
#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "confine/confine.h"
#include "policy/discover_internal.h"

#define RULE "discover"
#define DISCOVER_MS 20000
#define NAMES_MAX 4096
/* A rename somewhere in the image makes the kernel give up a lookup below a root. */
#define TRIES 16

/* Links are followed as they would be in the image: none leads out of it. */
static int open_in(int root, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)(flags | O_RDONLY | O_CLOEXEC | O_NOCTTY |
						    O_NONBLOCK),
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	long fd = -1;

	for (int i = 0; i < TRIES && fd < 0; i++) {
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd < 0 && errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR;
}

int discover_read(int root, const char *path, char **ret, struct bm_error *err)
{
	autoclose fd = open_in(root, path, 0);
	struct stat st;
	int r = fd < 0 ? fd : 0;

	if (is_absent(r))
		return -ENOENT;
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	/* Not a device, not a FIFO: neither is configuration. */
	if (r == 0 && !S_ISREG(st.st_mode))
		return -ENOENT;
	if (r == 0)
		r = st.st_size > BM_IMAGE_FILE_MAX ? -EFBIG
						   : bm_read_fd(fd, BM_IMAGE_FILE_MAX, ret, NULL);
	return r < 0 ? bm_fail_errno(err, -r, "%.200s of the image", path) : 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int discover_each(int root, const char *path,
		  int (*fn)(void *ctx, const char *name, struct bm_error *err), void *ctx,
		  struct bm_error *err)
{
	autoclose fd = open_in(root, path, O_DIRECTORY);
	autoclosedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	autofree char **names = calloc(NAMES_MAX, sizeof(*names));
	struct dirent *entry;
	size_t count = 0;
	int r = 0;

	if (fd < 0)
		return is_absent(fd) ? 0 : bm_fail_errno(err, -fd, "%.200s of the image", path);
	if (!dir || !names)
		return bm_fail_errno(err, errno, "%.200s of the image", path);
	(void)TAKE_FD(fd);
	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (count == NAMES_MAX)
			r = bm_fail(err, E2BIG, RULE, NULL,
				    "%.200s of the image has more than %d entries", path,
				    NAMES_MAX);
		else if ((names[count] = strdup(entry->d_name)))
			count++;
		else
			r = -ENOMEM;
	}
	qsort(names, count, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < count; i++) {
		if (r == 0)
			r = fn(ctx, names[i], err);
		free(names[i]);
	}
	return r;
}

struct work {
	int root;
	enum bm_discover what;
	struct bm_discovery d;
};

/* In a helper: what it takes apart was written by whoever made the image. */
static int discover(void *arg, int *ret_fd, struct bm_error *err)
{
	static int (*const discoveries[BM_DISCOVER_MAX])(int, struct bm_discovery *,
							 struct bm_error *) = {
		[BM_DISCOVER_APT] = discover_apt,
		[BM_DISCOVER_NPM] = discover_npm,
		[BM_DISCOVER_PIP] = discover_pip,
	};
	struct work *w = arg;
	autoclose answer = -1;
	int r = bm_confine(BM_CONFINE_READ, err);

	if (r == 0)
		r = discoveries[w->what](w->root, &w->d, err);
	if (r < 0)
		return r;
	answer = memfd_create("benchmon", MFD_CLOEXEC);
	r = answer < 0 ? -errno : bm_write_all(answer, &w->d, sizeof(w->d));
	if (r < 0 || lseek(answer, 0, SEEK_SET) < 0)
		return bm_fail_errno(err, r < 0 ? -r : errno, "what was discovered");
	*ret_fd = TAKE_FD(answer);
	return 0;
}

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* It may have been taken over by what it read: a host of its answer is looked at like any other. */
static int take_answer(int fd, struct bm_discovery *ret)
{
	autofree char *data = NULL;
	struct bm_discovery *d;
	size_t size;
	int r = bm_read_fd(fd, sizeof(*d), &data, &size);

	if (r < 0)
		return r;
	d = (struct bm_discovery *)(void *)data;
	if (size != sizeof(*d) || !d->count || d->count > BM_FOUND_MAX ||
	    d->left_count > BM_LEFT_MAX)
		return -EPROTO;
	for (size_t i = 0; i < d->count; i++) {
		struct bm_found *found = &d->found[i];
		char host[BM_HOSTNAME_LEN];

		if (!ends(found->host, sizeof(found->host)) ||
		    !ends(found->file, sizeof(found->file)) || !found->port ||
		    bm_hostname_parse(found->host, strlen(found->host), host, NULL) < 0)
			return -EPROTO;
	}
	for (size_t i = 0; i < d->left_count; i++)
		if (!ends(d->left[i], sizeof(d->left[i])))
			return -EPROTO;
	*ret = *d;
	return 0;
}

int bm_discover(int root, enum bm_discover what, struct bm_discovery *ret, struct bm_error *err)
{
	autofree struct work *w = calloc(1, sizeof(*w));
	autoclose socket = -1, answer = -1;
	pid_t pid;
	int r;

	if (!w)
		return bm_fail_errno(err, ENOMEM, "discover");
	w->root = root;
	w->what = what;
	r = bm_helper_start(discover, w, root, &socket, &pid, err);
	if (r == 0)
		r = bm_helper_await(socket, pid, DISCOVER_MS, &answer, err);
	if (r == 0)
		r = take_answer(answer, ret);
	return r < 0 ? bm_fail_errno(err, -r, "what was discovered") : 0;
}
