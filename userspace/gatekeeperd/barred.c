// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/barred.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/above.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "bench/mounts.h"

struct granted {
	const struct bench *bench;
	uint32_t ended;
};

static bool is_granted(void *ctx, int fd, const struct stat *st)
{
	const struct granted *in = ctx;

	(void)fd;
	for (const struct grant *g = in->bench->grants; g; g = g->next)
		if (g->kind == GRANT_FILE && g->number != in->ended && g->device == st->st_dev &&
		    g->inode == st->st_ino)
			return true;
	return false;
}

/* A grant now in force of what lies above the one through whose mount this is held. */
static bool is_granted_above(const struct bench *bench, uint64_t mount)
{
	for (const struct grant *old = bench->revoked; old; old = old->next) {
		bool same = false;

		for (size_t i = 0; i < GRANT_MOUNTS; i++)
			same |= old->mounts[i] == mount;
		for (const struct grant *g = bench->grants; same && g; g = g->next) {
			size_t len = g->kind == GRANT_FILE ? strlen(g->source) : 0;

			if (len && !strncmp(old->source, g->source, len) &&
			    (old->source[len] == '/' || !old->source[len]))
				return true;
		}
	}
	return false;
}

/* The way up ends at the root of its mount, which has no parent any more. */
static bool lies_in_grant(const struct bench *bench, int fd, uint64_t mount, uint32_t ended)
{
	struct granted in = { bench, ended };
	int r = bm_any_above(fd, is_granted, &in);

	return r ? r > 0 : is_granted_above(bench, mount);
}

static int mark_one(struct daemon *d, struct bench *bench, const struct bm_held *held,
		    uint32_t number, struct bm_error *err)
{
	struct bm_grant tombstone = { .rights = 0, .grant = number }, there;
	autoclose fd = bm_held_open(held);
	uint64_t object;
	int r;

	if (fd < 0)
		return fd == -ENOENT ? 0 : bm_fail_errno(err, -fd, "a directory that is held");
	if (lies_in_grant(bench, fd, held->mount, number))
		return 0;
	r = bm_object_mark(d->kernel, fd, &object, err);
	if (r < 0 || bm_grant_get(d->kernel, bench->id, object, &there) == 0)
		return r;
	return bm_grant_put(d->kernel, bench->id, object, &tombstone, err);
}

int barred_mark(struct daemon *d, struct bench *bench, const struct bm_held_list *held,
		uint32_t number, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; i < held->count && r == 0; i++)
		if (held->list[i].directory && held->list[i].kind != BM_HELD_MAPPING)
			r = mark_one(d, bench, &held->list[i], number, err);
	return r;
}

static bool is_revoked_object(const struct bench *bench, uint64_t object)
{
	for (const struct grant *g = bench->revoked; g; g = g->next)
		if (g->object == object)
			return true;
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (g->kind == GRANT_FILE && g->object == object)
			return true;
	return bench_closed_object(bench, object);
}

static bool keep_but_barred(void *ctx, const struct bm_grant_key *key, const struct bm_grant *grant)
{
	return grant->rights || is_revoked_object(ctx, key->object);
}

static bool keep_but_tombstones(void *ctx, const struct bm_grant_key *key,
				const struct bm_grant *grant)
{
	struct bench *bench = ctx;

	/* Of a grant still in the ledger: a revocation that goes on; or it lies in another one. */
	return grant->rights || bench_grant_of_object(bench, key->object) ||
	       bench_closed_object(bench, key->object);
}

void barred_clear(struct daemon *d, struct bench *bench)
{
	struct bm_keep keep = { .grant = keep_but_barred, .ctx = bench };

	bm_tables_prune(d->kernel, bench->id, &keep, NULL);
}

void barred_bury(struct daemon *d, struct bench *bench)
{
	struct bm_keep keep = { .grant = keep_but_tombstones, .ctx = bench };

	bm_tables_prune(d->kernel, bench->id, &keep, NULL);
}

struct spare {
	struct daemon *d;
	struct bench *bench;
	struct bm_mounts mounts, host;
};

static const struct bm_mount *mount_of(const struct bm_mounts *mounts, uint64_t id)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->list[i].id == id)
			return &mounts->list[i];
	return NULL;
}

/* From outside the Bench: its parent is none of its own. */
static bool is_entry(const struct spare *s, pid_t pid)
{
	char path[64], cgroup[BM_CGROUP_PATH], *line;
	size_t len = strlen(s->bench->cgroup.path);
	autofree char *status = NULL;
	pid_t parent;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (bm_read_file(AT_FDCWD, path, 65536, &status, NULL) < 0)
		return false;
	line = strstr(status, "\nPPid:");
	parent = line ? (pid_t)strtol(line + 6, NULL, 10) : 0;
	if (bm_cgroup_of_pid(parent, cgroup, NULL) < 0)
		return true;
	return strncmp(cgroup, s->bench->cgroup.path, len) || (cgroup[len] && cgroup[len] != '/');
}

static int spare_of(void *ctx, pid_t pid)
{
	struct spare *s = ctx;

	if (!is_entry(s, pid))
		return 0;
	for (int fd = 0; fd < 3; fd++) {
		const struct bm_mount *host;
		struct statx stx;
		char path[64];
		dev_t device;
		int r;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &stx) < 0 ||
		    mount_of(&s->mounts, stx.stx_mnt_id))
			continue;
		/* mountinfo has the device as the programs see it, also where stat has not. */
		host = mount_of(&s->host, stx.stx_mnt_id);
		device = host ? makedev(host->major, host->minor)
			      : makedev(stx.stx_dev_major, stx.stx_dev_minor);
		r = bm_carried_put(s->d->kernel, s->bench->id, device, stx.stx_ino);
		if (r < 0)
			return r;
	}
	return 0;
}

int barred_spare_stdio(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	struct spare spare = { .d = d, .bench = bench };
	int r = bm_target_mounts(&bench->target, &spare.mounts, err);

	if (r == 0)
		r = bm_mounts_read(1, &spare.host, err);
	if (r == 0)
		r = bm_cgroup_each(&bench->cgroup, spare_of, &spare);
	bm_mounts_done(&spare.mounts);
	bm_mounts_done(&spare.host);
	return r < 0 ? bm_fail_errno(err, -r, "the container's stdin and stdout") : 0;
}
