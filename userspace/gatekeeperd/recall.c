// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/recall.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"
#include "bench/held.h"
#include "bench/mounts.h"
#include "bench/pin.h"
#include "bench/relocate.h"
#include "gatekeeperd/barred.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/nested.h"
#include "gatekeeperd/search.h"

#define FOUND_MAX 64

/*
 * Everybody waits while one Bench is waited for: where a task sits in the kernel and can't be got
 * out (a dead disk or server), not long, and next time shorter.
 */
#define PATIENCE_MS 5000

/* No hook can take these back: the holder has to end. */
static bool must_end(const struct bm_held *held)
{
	return held->kind == BM_HELD_MAPPING || held->kind == BM_HELD_LOCK ||
	       held->kind == BM_HELD_WATCH || held->kind == BM_HELD_RING;
}

static bool through(const struct grant *g, uint64_t mount)
{
	for (size_t i = 0; i < GRANT_MOUNTS; i++)
		if (mount && g->mounts[i] == mount)
			return true;
	return false;
}

/* Of a grant revoked before, whose holders were to be told and not killed. */
static bool reported_before(const struct bench *bench, const struct bm_held *held)
{
	for (const struct grant *g = bench->revoked; g; g = g->next)
		if (g->report && through(g, held->mount))
			return true;
	for (const struct grant *g = bench->closed; g; g = g->next)
		if (g->report && through(g, held->mount))
			return true;
	return false;
}

/* A mount's number is given again as soon as nothing holds it. */
static void forget_numbers(struct grant *list, const struct grant *now)
{
	for (struct grant *g = list; g; g = g->next)
		for (size_t i = 0; i < GRANT_MOUNTS; i++)
			if (through(now, g->mounts[i]))
				g->mounts[i] = 0;
}

/* Of another grant, whose own revocation has told of it. */
static bool told_before(const struct bench *bench, const struct grant *g,
			const struct bm_held *held)
{
	for (const struct grant *other = bench->revoked; other; other = other->next)
		if (other != g && through(other, held->mount))
			return true;
	return false;
}

static void tell(struct json_object *found, const struct bench *bench, const struct grant *g,
		 const struct bm_held *held, const char *done)
{
	struct json_object *json;
	char id[BM_GRANT_ID_LEN];

	if (!found || json_object_array_length(found) >= FOUND_MAX)
		return;
	json = json_object_new_object();
	snprintf(id, sizeof(id), "%s/%u", bench->name, g->number);
	bm_json_add_string(json, "grant", id);
	bm_json_add_int(json, "pid", held->pid);
	bm_json_add_string(json, "comm", held->comm);
	bm_json_add_string(json, "what", bm_held_kind_name(held->kind));
	if (held->fd >= 0)
		bm_json_add_int(json, "fd", held->fd);
	bm_json_add_bool(json, "writable", held->writable);
	bm_json_add_string(json, "path", held->path);
	bm_json_add_string(json, "done", done);
	json_object_array_add(found, json);
}

struct doomed {
	struct pollfd *list;
	size_t count;
};

static int doom(struct doomed *doomed, pid_t pid)
{
	struct pollfd *grown;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return errno == ESRCH ? 0 : -errno;
	grown = reallocarray(doomed->list, doomed->count + 1, sizeof(*grown));
	if (!grown) {
		bm_close(fd);
		return -ENOMEM;
	}
	doomed->list = grown;
	grown[doomed->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 && errno != ESRCH ? -errno
											  : 0;
}

static int await_end(struct doomed *doomed, unsigned wait_ms)
{
	uint64_t deadline = bm_now_ns(CLOCK_MONOTONIC) + wait_ms * 1000000ull;
	int r = 0;

	for (size_t i = 0; i < doomed->count; i++) {
		uint64_t now = bm_now_ns(CLOCK_MONOTONIC);
		int left = now < deadline ? (int)((deadline - now) / 1000000) : 0;

		if (r == 0 && poll(&doomed->list[i], 1, left) != 1)
			r = -ETIMEDOUT;
		bm_close(doomed->list[i].fd);
	}
	free(doomed->list);
	return r;
}

void recall_begin(struct bench *bench)
{
	bench->recalling = true;
	backoff_reset(&bench->review);
}

/* Kills, closes directories, attaches the hooks when a descriptor stays. Its tasks are frozen. */
static int deal_with(struct daemon *d, struct bench *bench, struct grant *g,
		     const struct bm_held_list *held, struct doomed *doomed,
		     struct json_object *found, struct bm_error *err)
{
	bool stays = false;
	int r = 0;

	forget_numbers(bench->revoked, g);
	forget_numbers(bench->closed, g);
	for (size_t i = 0; i < held->count && r == 0; i++) {
		const struct bm_held *h = &held->list[i];
		bool spared = must_end(h) && (g->report || reported_before(bench, h));

		if (must_end(h) && !spared)
			r = doom(doomed, h->pid);
		else
			stays = true;
		if (!told_before(bench, g, h))
			tell(found, bench, g, h,
			     spared        ? "reported"
			     : must_end(h) ? "killed"
					   : "refused");
	}
	if (r < 0)
		return bm_fail_errno(err, -r, "kill what maps the object");
	if (!stays)
		return 0;
	recall_begin(bench);
	r = bm_recall_attach(d->kernel, err);
	return r < 0 ? r : barred_mark(d, bench, held, g->number, err);
}

/*
 * The object through a mount of the Bench's, whose numbers the grant gets; through its pin where a
 * daemon that was killed has taken the mounts already. *ret_fd is the caller's; -1: neither is
 * there.
 */
static int find_object(struct bench *bench, struct grant *g, struct bm_held_object *ret,
		       int *ret_fd, struct bm_error *err)
{
	const struct bm_mount *m;
	automounts mounts = {};
	int r = bm_mount_of_object(&bench->target, g->device, g->inode, g->mounts, GRANT_MOUNTS,
				   ret_fd, err);

	*ret = (struct bm_held_object){ .device = g->device,
					.inode = g->inode,
					.superblock = g->device };
	if (r > 0)
		r = bm_target_mounts(&bench->target, &mounts, err);
	else if (r == 0)
		bm_pin_open(bench->id, g->object, &ret->superblock, ret_fd);
	m = bm_mount_find(&mounts, g->mounts[0]);
	if (m)
		ret->superblock = makedev(m->major, m->minor);
	ret->fd = *ret_fd;
	return r;
}

struct frozen {
	struct daemon *d;
	struct bench *bench;
	struct grant *g;
	struct doomed doomed;
	struct json_object *found;
	bool now; /* the search is waited for */
};

/* The mounts go, and what is held is looked for. */
static int begin_frozen(struct frozen *f, struct bm_held_list *ret, struct bm_error *err)
{
	struct bench *bench = f->bench;
	struct grant *g = f->g;
	struct bm_held_object object;
	autoclose fd = -1;
	int r = find_object(bench, g, &object, &fd, err);

	if (r == 0)
		r = bm_mount_take(&bench->target, grant_mount_point(g), g->device, g->inode, err);
	STEP(RECALL_MOUNT_TAKEN);
	if (r < 0)
		return r;
	if (f->now)
		return search_now(f->d, bench, &object, NULL, ret, err);
	r = search_begin(f->d, bench, SEARCH_REVOKE, g->number, &object, err);
	return r < 0 ? r : REVOKE_SEARCHES;
}

static int recall_frozen(void *arg, struct bm_error *err)
{
	struct frozen *f = arg;
	struct bench *bench = f->bench;
	struct grant *g = f->g;
	autoheld held = {};
	int r = search_is_of(bench, SEARCH_REVOKE, g->number) ? search_take(f->d, bench, &held, err)
							      : begin_frozen(f, &held, err);

	if (r == REVOKE_SEARCHES)
		return r;
	if (r == 0)
		r = deal_with(f->d, bench, g, &held, &f->doomed, f->found, err);
	STEP(RECALL_DEALT_WITH);
	return r;
}

int recall_end_all(struct bench *bench, struct json_object *found, const struct bm_error *why,
		   struct bm_error *err)
{
	struct json_object *json = json_object_new_object();
	int r = bm_cgroup_kill(&bench->cgroup, err);

	bm_json_add_string(json, "what", "bench");
	bm_json_add_string(json, "done", r < 0 ? "frozen" : "killed");
	bm_json_add_string(json, "why", why->message);
	if (found)
		json_object_array_add(found, json);
	else
		json_object_put(json);
	daemon_log(LOG_LEVEL_WARNING, "all in Bench %s was killed: %s", bench->name, why->message);
	return r;
}

static int any(void *ctx, pid_t pid)
{
	(void)ctx;
	(void)pid;
	return 1;
}

bool recall_nothing_lives(const struct bench *bench)
{
	return bm_cgroup_each(&bench->cgroup, any, NULL) == 0;
}

int recall_end_outlived(struct bench *bench, struct json_object *found, struct bm_error *err)
{
	struct bm_error why = {};

	if (bench->cgroup.fd < 0 || recall_nothing_lives(bench))
		return 0;
	bm_fail(&why, ESRCH, "recall", NULL, "its init has ended, and others live on");
	return recall_end_all(bench, found, &why, err);
}

/* One that is broken stands still until it has no more to lose. */
static bool keeps_still(const struct bench *bench)
{
	return bench->halted || bench->frozen || bench->freezings || bench->state == BENCH_BROKEN ||
	       search_keeps_still(bench);
}

void recall_resume(struct bench *bench)
{
	if (bm_cgroup_forgotten(&bench->cgroup) && !keeps_still(bench))
		bm_cgroup_resume(&bench->cgroup, false, NULL);
}

int recall_while_frozen(struct bench *bench, int (*fn)(void *arg, struct bm_error *err), void *arg,
			struct bm_error *err)
{
	bool was;
	int r = bm_cgroup_pause(&bench->cgroup, &was, err);

	STEP(RECALL_PAUSED);
	if (r == 0)
		r = fn(arg, err);
	if (r == REVOKE_SEARCHES)
		return r;
	STEP(RECALL_DONE);
	return r == 0 ? bm_cgroup_resume(&bench->cgroup, was || keeps_still(bench), err) : r;
}

static int carry_through(struct daemon *d, struct bench *bench, struct grant *g, bool now,
			 struct json_object *found, struct bm_error *err)
{
	struct frozen frozen = { .d = d, .bench = bench, .g = g, .found = found, .now = now };
	struct bm_error why = {};
	int r, ended;

	/* Without its init nobody knows its mounts any more. */
	if (!bench_alive(bench)) {
		search_abandon(d, bench);
		return recall_end_outlived(bench, found, err);
	}
	r = recall_while_frozen(bench, recall_frozen, &frozen, &why);
	if (r == REVOKE_SEARCHES)
		return r;
	ended = await_end(&frozen.doomed, bench->cgroup.wait_ms);
	if (r == 0 && ended < 0)
		r = bm_fail_errno(&why, -ended, "wait for the end of what maps the object");
	if (r == 0)
		return 0;
	r = recall_end_all(bench, found, &why, err);
	if (r == 0)
		bm_mount_take(&bench->target, grant_mount_point(g), g->device, g->inode, NULL);
	return r;
}

void recall_patiently(struct bench *bench)
{
	bench->cgroup.wait_ms = bench->ending.wait_ns ? RECALL_SHORT_MS : PATIENCE_MS;
}

int recall_grant(struct daemon *d, struct bench *bench, struct grant *g, struct json_object *found,
		 struct bm_error *err)
{
	/* Where nobody else is served, or all of it has to end at once. */
	bool now = d->restoring || d->stop || bench->tearing;
	const struct search *s = bench->search;
	int r;

	if (s && !now && s->why == SEARCH_REVOKE && (!s->answered || s->grant != g->number))
		return REVOKE_SEARCHES;
	if (s && (now || s->why != SEARCH_REVOKE))
		search_abandon(d, bench);
	recall_patiently(bench);
	r = carry_through(d, bench, g, now, found, err);
	bench->cgroup.wait_ms = 0;
	return r;
}

int recall_attached(struct daemon *d, struct bench *bench, const struct bm_foreign_list *foreign,
		    struct bm_error *err)
{
	autoheld held = {};
	int r = barred_spare_stdio(d, bench, err);

	if (r == 0)
		r = search_now(d, bench, NULL, foreign, &held, err);
	for (size_t i = 0; i < held.count && r == 0; i++)
		if (must_end(&held.list[i]))
			return bm_fail(err, EBUSY, "held",
				       "end that process, or attach between create and start",
				       "process %d (%.15s) has a %s on %.100s, a file of the host",
				       held.list[i].pid, held.list[i].comm,
				       bm_held_kind_name(held.list[i].kind), held.list[i].path);
	if (r < 0 || !held.count)
		return r;
	recall_begin(bench);
	r = bm_recall_attach(d->kernel, err);
	return r < 0 ? r : barred_mark(d, bench, &held, 0, err);
}

void recall_regranted(struct daemon *d, struct bench *bench)
{
	autoheld held = {};

	if (!bench->recalling)
		return;
	barred_clear(d, bench);
	/* On failure a name in what was granted before can be looked up, and nothing more. */
	if (search_now(d, bench, NULL, NULL, &held, NULL) == 0)
		barred_mark(d, bench, &held, 0, NULL);
}
