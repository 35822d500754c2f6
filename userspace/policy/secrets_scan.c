// SPDX-License-Identifier: GPL-2.0-only
/* What in a directory is a secret, within bounds; in a helper that can do nothing but read there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/memfd.h>
#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "confine/confine.h"
#include "policy/secrets.h"

struct work {
	const struct bm_secrets_look *look;
	struct bm_secrets_scan answer;
	uint64_t deadline; /* CLOCK_MONOTONIC */
	char path[PATH_MAX + BM_SECRET_PATH_LEN];
	size_t base; /* of path: what is searched, and a / */
};

static int open_in(int dir, const char *name, int flags)
{
	struct open_how how = { .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
						    O_NOCTTY),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	long fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static const char *below(const struct work *w)
{
	return w->path[w->base - 1] ? w->path + w->base : "";
}

static void add(struct work *w, const char *why, bool directory)
{
	struct bm_secret_found *found = &w->answer.list[w->answer.count];

	if (w->answer.count++ >= BM_SECRET_FOUND)
		return;
	snprintf(found->path, sizeof(found->path), "%s", below(w));
	snprintf(found->why, sizeof(found->why), "%s", why);
	found->directory = directory;
}

static bool stopped(struct work *w)
{
	if (bm_now_ns(CLOCK_MONOTONIC) >= w->deadline)
		w->answer.bounds |= BM_SECRETS_TIME;
	return w->answer.bounds & (BM_SECRETS_TIME | BM_SECRETS_ENTRIES);
}

static const char *by_content(struct work *w, int fd)
{
	char head[BM_SECRET_HEAD];
	ssize_t n = lseek(fd, 0, SEEK_SET) < 0 ? -1 : read(fd, head, sizeof(head));

	if (n < 0)
		w->answer.bounds |= BM_SECRETS_UNREAD;
	return n > 0 ? bm_secret_by_head(w->look->secrets, head, (size_t)n) : NULL;
}

/*
 * What its owner may not read, the Bench can't either, and what is mounted there does not come
 * along. Of anything else nobody knows what it is.
 */
static void not_read(struct work *w, int error)
{
	w->answer.unreadable++;
	if (error != EACCES && error != EXDEV && error != ENOENT && error != ESTALE)
		w->answer.bounds |= BM_SECRETS_UNREAD;
}

static void look_at_file(struct work *w, int dir, const char *name, const struct stat *st)
{
	const char *why = bm_secret_by_name(w->look->secrets, w->path, false);

	if (!why && st->st_size > 0 && st->st_size <= BM_SECRET_FILE_MAX) {
		autoclose fd = open_in(dir, name, O_RDONLY);

		if (fd < 0)
			not_read(w, -fd);
		else
			why = by_content(w, fd);
	}
	if (why)
		add(w, why, false);
}

static bool left_out(const struct work *w)
{
	for (size_t i = 0; w->look->leave && w->look->leave[i]; i++)
		if (!strcmp(w->look->leave[i], below(w)))
			return true;
	return false;
}

/* An inode's number is used again: who was born at another time is another. */
static bool is_born(int dir, const char *name, int64_t born_ns)
{
	struct statx st;

	if (!born_ns || statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) < 0 ||
	    !(st.stx_mask & STATX_BTIME))
		return true;
	return st.stx_btime.tv_sec * 1000000000ll + st.stx_btime.tv_nsec == born_ns;
}

static const char *is_known(const struct work *w, int dir, const char *name, const struct stat *st)
{
	for (size_t i = 0; i < w->look->known_count; i++) {
		const struct bm_secret_known *known = &w->look->known[i];

		if (known->inode == st->st_ino && known->device == st->st_dev &&
		    is_born(dir, name, known->born_ns))
			return w->look->known_why;
	}
	return NULL;
}

static void walk(struct work *w, int parent, const char *name, unsigned depth);

static void look_in(struct work *w, int dir, const char *name, unsigned depth)
{
	const char *why;
	struct stat st;

	/* It has gone since it was listed. */
	if (left_out(w) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	why = is_known(w, dir, name, &st);
	if (why) {
		add(w, why, S_ISDIR(st.st_mode));
		return;
	}
	if (S_ISREG(st.st_mode)) {
		look_at_file(w, dir, name, &st);
		return;
	}
	if (!S_ISDIR(st.st_mode))
		return;
	why = bm_secret_by_name(w->look->secrets, w->path, true);
	if (why)
		add(w, why, true);
	else if (depth >= w->look->depth)
		w->answer.bounds |= BM_SECRETS_DEPTH;
	else
		walk(w, dir, name, depth + 1);
}

static void walk(struct work *w, int parent, const char *name, unsigned depth)
{
	autoclose fd = open_in(parent, name, O_RDONLY | O_DIRECTORY);
	autoclosedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t len = strlen(w->path);
	struct dirent *entry = NULL;

	if (!dir) {
		not_read(w, fd < 0 ? -fd : errno);
		return;
	}
	(void)TAKE_FD(fd);
	errno = 0;
	while (!stopped(w) && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (w->answer.entries++ >= w->look->entries) {
			w->answer.bounds |= BM_SECRETS_ENTRIES;
			return;
		}
		if (len - w->base + strlen(entry->d_name) + 2 >= BM_SECRET_PATH_LEN) {
			w->answer.bounds |= BM_SECRETS_DEPTH;
			continue;
		}
		snprintf(w->path + len, sizeof(w->path) - len, "/%s", entry->d_name);
		look_in(w, dirfd(dir), entry->d_name, depth);
		w->path[len] = '\0';
		errno = 0;
	}
	if (!entry && errno)
		not_read(w, errno);
}

static int hand_over(const struct bm_secrets_scan *answer, int *ret_fd)
{
	autoclose fd = memfd_create("secrets", MFD_CLOEXEC);
	const char *p = (const char *)answer;
	size_t left = sizeof(*answer);

	while (fd >= 0 && left) {
		ssize_t n = write(fd, p, left);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		left -= (size_t)n;
	}
	if (fd < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int search(void *arg, int *ret_fd, struct bm_error *err)
{
	struct work *w = arg;
	const struct bm_secrets_look *look = w->look;
	struct stat st;
	int r;

	/* The deadline is looked at between entries; of what hangs, nobody else ends it. */
	alarm((unsigned)(look->ms / 1000) + 2);
	r = look->anybody ? 0 : bm_confine_user(look->uid, look->gid, err);
	if (r == 0)
		r = bm_confine(look->anybody ? BM_CONFINE_READ : BM_CONFINE_OUTPUTS, err);
	if (r < 0)
		return r;
	w->deadline = bm_now_ns(CLOCK_MONOTONIC) + look->ms * 1000000ull;
	if (fstat(look->fd, &st) < 0)
		return bm_fail_errno(err, errno, "search for secrets");
	w->base = strlen(look->path) + 1;
	snprintf(w->path, sizeof(w->path), "%s", look->path);
	if (S_ISDIR(st.st_mode)) {
		walk(w, look->fd, ".", 0);
	} else if (st.st_size <= BM_SECRET_FILE_MAX) {
		const char *why = by_content(w, look->fd);

		w->path[w->base - 1] = '\0';
		if (why)
			add(w, why, false);
	}
	r = hand_over(&w->answer, ret_fd);
	return r < 0 ? bm_fail_errno(err, -r, "search for secrets") : 0;
}

/* The helper looked at what a stranger made: nothing of its answer is believed unlooked at. */
static int take(int fd, struct bm_secrets_scan *ret)
{
	ssize_t n = pread(fd, ret, sizeof(*ret), 0);
	size_t count;

	if (n != (ssize_t)sizeof(*ret))
		return n < 0 ? -errno : -EPROTO;
	count = ret->count < BM_SECRET_FOUND ? ret->count : BM_SECRET_FOUND;
	for (size_t i = 0; i < count; i++)
		if (!memchr(ret->list[i].path, 0, sizeof(ret->list[i].path)) ||
		    !memchr(ret->list[i].why, 0, sizeof(ret->list[i].why)) || !ret->list[i].why[0])
			return -EPROTO;
	return 0;
}

int bm_secrets_search_start(const struct bm_secrets_look *look, struct bm_secrets_search *ret,
			    struct bm_error *err)
{
	autofree struct work *w = calloc(1, sizeof(*w));

	if (!w || strlen(look->path) >= PATH_MAX)
		return bm_fail_errno(err, w ? ENAMETOOLONG : ENOMEM, "search for secrets");
	w->look = look;
	return bm_helper_start(search, w, look->fd, &ret->socket, &ret->pid, err);
}

int bm_secrets_search_finish(struct bm_secrets_search *search, struct bm_secrets_scan *ret,
			     struct bm_error *err)
{
	autoclose socket = TAKE_FD(search->socket), answer = -1;
	int r = bm_helper_await(socket, search->pid, BM_HELPER_MS, &answer, err);

	if (r == 0)
		r = take(answer, ret);
	return r < 0 ? bm_fail_errno(err, -r, "search for secrets") : 0;
}

void bm_secrets_search_abandon(struct bm_secrets_search *search)
{
	bm_helper_end(&search->socket, search->pid);
}

int bm_secrets_scan(const struct bm_secrets_look *look, struct bm_secrets_scan *ret,
		    struct bm_error *err)
{
	struct bm_secrets_search search = { .socket = -1 };
	int r = bm_secrets_search_start(look, &search, err);

	return r < 0 ? r : bm_secrets_search_finish(&search, ret, err);
}
