// SPDX-License-Identifier: GPL-2.0-only
#include "bench/outputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <linux/memfd.h>
#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "bench/outputs_internal.h"
#include "confine/confine.h"

#define CHUNK (256 << 10)
/* Files get the time of the last tick: a write right after the grant may seem to be before it. */
#define TICK_NS 10000000
/* And on some file systems that of the last second, or of the second last. */
#define COARSE_S 2

static const int64_t second = 1000000000;

struct work {
	const struct bm_outputs_look *look;
	struct outputs_answer answer;
	uint64_t deadline; /* CLOCK_MONOTONIC */
	char path[PATH_MAX];
	char *chunk;
};

static int64_t ns_of(struct timespec t)
{
	return t.tv_sec * second + t.tv_nsec;
}

static bool since(struct timespec t, int64_t ns)
{
	if (!t.tv_nsec && t.tv_sec >= ns / second - COARSE_S && t.tv_sec <= ns / second)
		return true;
	return ns_of(t) >= ns - TICK_NS;
}

static bool written(const struct work *w, const struct stat *st)
{
	return since(st->st_mtim, w->look->since_ns) || since(st->st_ctim, w->look->since_ns);
}

static void stop(struct work *w, enum bm_outputs_bound bound)
{
	w->answer.counts.bounds |= 1u << bound;
}

/* Depth and bytes bound a directory or a file; the others are the end. */
static bool stopped(struct work *w)
{
	if (bm_now_ns(CLOCK_MONOTONIC) >= w->deadline)
		stop(w, BM_BOUND_SECONDS);
	return w->answer.counts.bounds & ~(1u << BM_BOUND_DEPTH | 1u << BM_BOUND_BYTES);
}

static int open_in(int dir, const char *name, int flags)
{
	struct open_how how = { .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	long fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* A file that was granted itself has no name below anything: by its descriptor. */
static int open_to_read(int dir, const char *name, int flags)
{
	struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC) };
	char link[40];
	long fd;

	if (*name)
		return open_in(dir, name, flags);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	fd = syscall(SYS_openat2, AT_FDCWD, link, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       ns_of(a->st_mtim) == ns_of(b->st_mtim) && ns_of(a->st_ctim) == ns_of(b->st_ctim);
}

static enum bm_output_state hash(struct work *w, int fd, uint64_t size, struct bm_output *out)
{
	crypto_hash_sha256_state state;
	uint64_t done = 0;

	crypto_hash_sha256_init(&state);
	while (done < size) {
		uint64_t left = size - done;
		ssize_t n = read(fd, w->chunk, left < CHUNK ? left : CHUNK);

		if (n < 0) {
			out->error = (uint32_t)errno;
			return BM_OUTPUT_UNREADABLE;
		}
		if (n == 0)
			return BM_OUTPUT_CHANGED;
		crypto_hash_sha256_update(&state, (unsigned char *)w->chunk, (size_t)n);
		done += (uint64_t)n;
		w->answer.counts.bytes += (uint64_t)n;
		if (stopped(w))
			return BM_OUTPUT_BOUND;
	}
	crypto_hash_sha256_final(&state, out->sha256);
	return BM_OUTPUT_HASHED;
}

static enum bm_output_state read_file(struct work *w, int dir, const char *name,
				      const struct stat *seen, struct bm_output *out)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	autoclose fd = -1;
	enum bm_output_state state;
	struct stat before, after;

	if ((uint64_t)seen->st_size > w->look->limits.bytes - w->answer.counts.bytes) {
		stop(w, BM_BOUND_BYTES);
		return BM_OUTPUT_BOUND;
	}
	fd = open_to_read(dir, name, flags | O_NOATIME);
	if (fd == -EPERM) /* it is somebody else's */
		fd = open_to_read(dir, name, flags);
	if (fd < 0) {
		out->error = (uint32_t)-fd;
		return fd == -ENOENT || fd == -ELOOP || fd == -EXDEV ? BM_OUTPUT_CHANGED
								     : BM_OUTPUT_UNREADABLE;
	}
	if (fstat(fd, &before) < 0 || !S_ISREG(before.st_mode) || !same(seen, &before))
		return BM_OUTPUT_CHANGED;
	state = hash(w, fd, (uint64_t)before.st_size, out);
	if (state == BM_OUTPUT_HASHED && (fstat(fd, &after) < 0 || !same(&before, &after)))
		state = BM_OUTPUT_CHANGED;
	if (state != BM_OUTPUT_HASHED)
		memset(out->sha256, 0, sizeof(out->sha256));
	return state;
}

static void add_file(struct work *w, int dir, const char *name, const struct stat *st)
{
	struct outputs_answer *a = &w->answer;
	struct bm_output *out;
	size_t len = strlen(w->path);

	if (!written(w, st))
		return;
	if (a->count == w->look->limits.files) {
		stop(w, BM_BOUND_FILES);
		return;
	}
	if (len > w->look->limits.paths - a->counts.paths) {
		stop(w, BM_BOUND_PATHS);
		return;
	}
	out = outputs_add(a, w->path);
	if (!out) {
		stop(w, BM_BOUND_PATHS);
		return;
	}
	out->size = (uint64_t)st->st_size;
	out->mtime_ns = ns_of(st->st_mtim);
	out->state = read_file(w, dir, name, st, out);
}

static bool is_apart(const struct work *w, const struct stat *st)
{
	const struct bm_outputs_look *look = w->look;

	for (size_t i = 0; i < look->apart_count; i++)
		if (look->apart[i].device == st->st_dev && look->apart[i].inode == st->st_ino)
			return true;
	for (size_t i = 0; look->names && look->names[i]; i++)
		if (!strcmp(look->names[i], w->path))
			return true;
	return false;
}

static void walk(struct work *w, int dir, const char *name, unsigned depth);

/* name in dir, of which w->path is the path. */
static void look_at(struct work *w, int dir, const char *name, unsigned depth)
{
	autoclose fd = open_in(dir, name, O_PATH);
	struct bm_outputs_counts *counts = &w->answer.counts;
	struct stat st;

	/* It has gone since it was listed, or is a mount. */
	if (fd < 0 || fstat(fd, &st) < 0) {
		counts->apart += fd == -EXDEV;
		counts->unreadable += fd == -EACCES;
		return;
	}
	if (is_apart(w, &st))
		counts->apart++;
	else if (S_ISREG(st.st_mode))
		add_file(w, dir, name, &st);
	else if (S_ISLNK(st.st_mode))
		counts->links++;
	else if (!S_ISDIR(st.st_mode))
		counts->special++;
	else if (depth == w->look->limits.depth)
		stop(w, BM_BOUND_DEPTH);
	else
		walk(w, dir, name, depth + 1);
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static void walk(struct work *w, int parent, const char *name, unsigned depth)
{
	autoclose fd = open_in(parent, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	autoclosedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t len = strlen(w->path);
	struct dirent *entry;

	if (!dir) {
		w->answer.counts.unreadable++;
		return;
	}
	(void)TAKE_FD(fd);
	while (!stopped(w) && (entry = readdir(dir))) {
		if (is_dots(entry->d_name))
			continue;
		if (w->answer.counts.entries == w->look->limits.entries) {
			stop(w, BM_BOUND_ENTRIES);
			break;
		}
		w->answer.counts.entries++;
		if (len + 1 + strlen(entry->d_name) >= sizeof(w->path)) {
			stop(w, BM_BOUND_DEPTH);
			continue;
		}
		snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "/" : "",
			 entry->d_name);
		look_at(w, dirfd(dir), entry->d_name, depth);
		w->path[len] = '\0';
	}
}

/* In a helper: the names and files are a stranger's. */
static int collect(void *arg, int *ret_fd, struct bm_error *err)
{
	struct work *w = arg;
	const struct bm_outputs_look *look = w->look;
	struct stat st;
	int r = bm_confine_user(look->uid, look->gid, err);

	if (r == 0)
		r = bm_confine(BM_CONFINE_OUTPUTS, err);
	if (r < 0)
		return r;
	w->deadline = bm_now_ns(CLOCK_MONOTONIC) + look->limits.ms * 1000000ull;
	w->chunk = malloc(CHUNK);
	if (!w->chunk)
		return bm_fail_errno(err, ENOMEM, "outputs");
	if (fstat(look->fd, &st) < 0)
		return bm_fail_errno(err, errno, "outputs");
	if (S_ISDIR(st.st_mode))
		walk(w, look->fd, ".", 0);
	else
		add_file(w, look->fd, "", &st);
	r = outputs_send(&w->answer, ret_fd);
	free(w->chunk);
	return r < 0 ? bm_fail_errno(err, -r, "outputs") : 0;
}

int bm_outputs_start(const struct bm_outputs_look *look, struct bm_collecting *ret,
		     struct bm_error *err)
{
	struct work *w;
	int r;

	if (look->limits.files > BM_OUTPUTS_FILES || look->limits.paths > BM_OUTPUTS_PATHS)
		return bm_fail_errno(err, EINVAL, "outputs");
	w = calloc(1, sizeof(*w));
	if (!w)
		return bm_fail_errno(err, ENOMEM, "outputs");
	w->look = look;
	r = bm_helper_start(collect, w, look->fd, &ret->socket, &ret->pid, err);
	free(w);
	return r;
}

int bm_outputs_finish(struct bm_collecting *c, unsigned ms, struct bm_outputs *ret,
		      struct bm_error *err)
{
	autoclose socket = TAKE_FD(c->socket), answer = -1;
	int r = bm_helper_await(socket, c->pid, (int)ms, &answer, err);

	if (r == 0)
		r = outputs_take(answer, ret);
	return r < 0 ? bm_fail_errno(err, -r, "outputs") : 0;
}

void bm_outputs_hurry(const struct bm_collecting *c)
{
	kill(c->pid, SIGKILL);
}

void bm_outputs_abandon(struct bm_collecting *c)
{
	bm_helper_end(&c->socket, c->pid);
}
