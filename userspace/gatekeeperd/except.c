// SPDX-License-Identifier: GPL-2.0-only
/* `--except`: the directories that excepted names are in, and the kernel's table of those names. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "bench/pin.h"
#include "gatekeeperd/nested.h"

#define NAMES_ROOM 8192

/* One component of an excepted name: in which directory, and what is left of it. */
struct row {
	uint64_t object;
	uint32_t rights;
	char name[BM_EXCEPT_NAME];
};

/* The component of e at depth at. Those on the way keep their names and nothing else. */
static void row_of(const struct except *e, unsigned at, struct row *ret)
{
	const char *p = e->name;

	for (unsigned i = 0; i < at; i++)
		p = strchr(p, '/') + 1;
	*ret = (struct row){ .object = e->object[at] };
	ret->rights = at + 1 < e->depth ? BM_R | BM_W : e->readable ? BM_R : 0;
	memcpy(ret->name, p, strcspn(p, "/"));
}

/* Names are compared byte by byte, so only where a file has one name under which it is found. */
static int check_names(int fd, const struct except *e, struct bm_error *err)
{
	static const unsigned long exact[] = { EXT4_SUPER_MAGIC,      0x58465342,
					       BTRFS_SUPER_MAGIC,     TMPFS_MAGIC,
					       OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
					       SQUASHFS_MAGIC };
	char shown[EXCEPT_LEN];
	struct statfs fs;
	size_t i = 0;
	int flags = 0;

	if (fstatfs(fd, &fs) < 0)
		return bm_fail_errno(err, errno, "file system of the object");
	while (i < sizeof(exact) / sizeof(exact[0]) && exact[i] != (unsigned long)fs.f_type)
		i++;
	if (i == sizeof(exact) / sizeof(exact[0]))
		return bm_fail(err, EOPNOTSUPP, "except",
			       "keep it on ext4, xfs, btrfs, tmpfs or overlay",
			       "\"%s\" is excepted on a file system where a file may have several "
			       "names",
			       bm_escape(e->name, shown, sizeof(shown)));
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && flags & FS_CASEFOLD_FL)
		return bm_fail(err, EOPNOTSUPP, "except",
			       "move it to a directory that is case-sensitive",
			       "\"%s\" is excepted in a directory that takes names in any case",
			       bm_escape(e->name, shown, sizeof(shown)));
	return 0;
}

static int open_next(int dir, const char *name, size_t len)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	char component[BM_EXCEPT_NAME] = "";

	memcpy(component, name, len);
	return (int)syscall(SYS_openat2, dir, component, &how, sizeof(how));
}

/* fn for each directory on the way to the name, the object itself first. */
static int each_directory(int object, struct except *e,
			  int (*fn)(void *ctx, int fd, struct except *e, unsigned at,
				    struct bm_error *err),
			  void *ctx, struct bm_error *err)
{
	autoclose dir = fcntl(object, F_DUPFD_CLOEXEC, 0);
	const char *p = e->name;
	char shown[EXCEPT_LEN];
	int r = dir < 0 ? -errno : fn(ctx, dir, e, 0, err);

	for (unsigned at = 1; r == 0 && at < e->depth; at++) {
		size_t len = strcspn(p, "/");
		int next = open_next(dir, p, len);

		if (next < 0)
			return bm_fail(err, errno, "except", "except a name that is above it",
				       "\"%s\" is excepted in what is no directory of the object's "
				       "file system",
				       bm_escape(e->name, shown, sizeof(shown)));
		bm_close(dir);
		dir = next;
		p += len + 1;
		r = fn(ctx, dir, e, at, err);
	}
	return r;
}

static int each(int object, struct except *list, size_t count,
		int (*fn)(void *ctx, int fd, struct except *e, unsigned at, struct bm_error *err),
		void *ctx, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = each_directory(object, &list[i], fn, ctx, err);
	return r;
}

static int look(void *ctx, int fd, struct except *e, unsigned at, struct bm_error *err)
{
	(void)ctx;
	(void)at;
	return check_names(fd, e, err);
}

int excepts_prepare(struct json_object *request, struct pending *p, struct bm_error *err)
{
	struct json_object *json;
	size_t room = 0;
	int r;

	if (!json_object_object_get_ex(request, "except", &json))
		return 0;
	r = excepts_from_json(json, false, &p->excepts, &p->except_count);
	for (size_t i = 0; r == 0 && i < p->except_count; i++)
		room += strlen(p->excepts[i].name);
	if (r < 0 || room > NAMES_ROOM)
		return bm_fail(err, EINVAL, "except", "give names such as .env or sub/.env",
			       "at most %d names can be excepted, each of at most %d components of "
			       "%d bytes, without \".\", \"..\" or control bytes",
			       EXCEPT_MAX, EXCEPT_DEPTH, BM_EXCEPT_NAME_MAX);
	if (!p->source.directory)
		return bm_fail(err, ENOTDIR, "except", "grant the file without --except",
			       "only of a directory can names be excepted");
	return each(p->fd, p->excepts, p->except_count, look, NULL, err);
}

static int mark(void *ctx, int fd, struct except *e, unsigned at, struct bm_error *err)
{
	struct daemon *d = ctx;
	int r = check_names(fd, e, err);

	return r < 0 ? r : bm_object_mark(d->kernel, fd, &e->object[at], err);
}

int excepts_mark(struct daemon *d, int fd, struct grant *g, struct bm_error *err)
{
	return each(fd, g->excepts, g->except_count, mark, d, err);
}

struct visit {
	struct daemon *d;
	uint32_t bench;
	pid_t peer; /* 0: only look */
};

static int visit(void *ctx, int fd, struct except *e, unsigned at, struct bm_error *err)
{
	const struct visit *v = ctx;
	char shown[EXCEPT_LEN];
	uint64_t object;

	if (bm_object_get(v->d->kernel, fd, &object) < 0 || object != e->object[at])
		return bm_fail(err, ESTALE, "except", "grant it again",
			       "the directories of \"%s\" were moved while it was granted",
			       bm_escape(e->name, shown, sizeof(shown)));
	/* The first is pinned as the object itself. */
	return v->peer && at ? bm_pin(v->bench, fd, v->peer, true, object, NULL, err) : 0;
}

int excepts_pin(struct daemon *d, const struct bench *bench, int fd, pid_t peer,
		const struct grant *g, struct bm_error *err)
{
	struct visit v = { d, bench->id, peer };

	return each(fd, g->excepts, g->except_count, visit, &v, err);
}

int excepts_check(struct daemon *d, const struct bench *bench, int fd, const struct grant *g,
		  struct bm_error *err)
{
	struct visit v = { d, bench->id, 0 };

	return each(fd, g->excepts, g->except_count, visit, &v, err);
}

/* Lowers *left to what g leaves of the name; true when it is one of g's. */
static bool lower(const struct grant *g, uint64_t object, const char *name, struct bm_except *left)
{
	bool found = false;

	for (size_t i = 0; i < g->except_count; i++) {
		for (unsigned at = 0; at < g->excepts[i].depth; at++) {
			struct row row;

			row_of(&g->excepts[i], at, &row);
			if (row.object != object || strcmp(row.name, name))
				continue;
			found = true;
			if (!left->grant || row.rights < left->rights)
				*left = (struct bm_except){ row.rights, g->number };
		}
	}
	return found;
}

static bool lower_all(const struct grant *list, const struct grant *without, uint64_t object,
		      const char *name, struct bm_except *left)
{
	bool found = false;

	for (const struct grant *g = list; g; g = g->next)
		if (g != without)
			found |= lower(g, object, name, left);
	return found;
}

static int put(struct daemon *d, const struct bench *bench, const struct row *row,
	       const struct grant *more, const struct grant *without, struct bm_error *err)
{
	struct bm_except left = {};
	bool found = lower_all(bench->grants, without, row->object, row->name, &left);
	int r;

	found |= lower_all(bench->closed, without, row->object, row->name, &left);
	if (more)
		found |= lower(more, row->object, row->name, &left);
	if (found)
		return bm_except_put(d->kernel, bench->id, row->object, row->name, &left, err);
	r = bm_except_drop(d->kernel, bench->id, row->object, row->name);
	return r < 0 ? bm_fail_errno(err, -r, "exceptions") : 0;
}

int excepts_put(struct daemon *d, const struct bench *bench, const struct grant *g,
		const struct grant *more, const struct grant *without, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; i < g->except_count; i++) {
		for (unsigned at = 0; r == 0 && at < g->excepts[i].depth; at++) {
			struct row row;

			row_of(&g->excepts[i], at, &row);
			r = put(d, bench, &row, more, without, err);
		}
	}
	return r;
}

bool excepts_have(const struct bench *bench, uint64_t object, const char *name)
{
	struct bm_except left = {};

	return lower_all(bench->grants, NULL, object, name, &left) ||
	       lower_all(bench->closed, NULL, object, name, &left);
}
