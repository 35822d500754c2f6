// SPDX-License-Identifier: GPL-2.0-only
/* How a Bench begins and ends, in steps that undo themselves. */
#include "gatekeeperd/lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/admit.h"
#include "bench/box.h"
#include "bench/container.h"
#include "bench/own.h"
#include "network/link.h"
#include "network/nft.h"

void now_text(char ret[40])
{
	bm_time_format(bm_now_ns(CLOCK_REALTIME), ret);
}

bool bench_alive(const struct bench *bench)
{
	return bench->pid > 0 && bench->pid_start && pid_start_time(bench->pid) == bench->pid_start;
}

int bench_netns(const struct bench *bench, int *ret_fd, struct bm_error *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", bench->pid);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, "network namespace of Bench %s", bench->name)
			   : 0;
}

int bench_record(struct daemon *d, const struct bench *bench, const char *event,
		 struct json_object *more, struct bm_error *err)
{
	struct json_object *fields = more ?: json_object_new_object();

	bm_json_add_string(fields, "bench", bench->name);
	bm_json_add_int(fields, "bench_id", bench->id);
	return daemon_record(d, event, fields, err);
}

/* One subtree, one Bench: nested ones would each be half of what decides. */
static int refuse_overlap(struct daemon *d, const struct bench *bench,
			  const struct bm_cgroup_ref *cgroup, struct bm_error *err)
{
	for (const struct bench *b = d->model.benches; b; b = b->next) {
		size_t ours = strlen(cgroup->path), theirs = strlen(b->cgroup.path);
		size_t common = ours < theirs ? ours : theirs;

		if (b == bench || !theirs || strncmp(cgroup->path, b->cgroup.path, common))
			continue;
		if (ours == theirs)
			return bm_fail(err, EEXIST, "one-bench", "detach that first",
				       "the container is Bench %s already", b->name);
		if (cgroup->path[common] == '/' || b->cgroup.path[common] == '/')
			return bm_fail(err, EBUSY, "one-bench", "attach the container itself",
				       "cgroup %s lies above or below that of Bench %s",
				       cgroup->path, b->name);
	}
	return 0;
}

/* The Bench's own objects: marked and written to the ledger before they may be used. */
static int admit_own(struct daemon *d, const struct bench *bench, const struct bm_own_list *own,
		     struct bm_error *err)
{
	struct json_object *fields = json_object_new_object(), *list = json_object_new_array();
	int r;

	for (size_t i = 0; i < own->count; i++) {
		struct json_object *item = json_object_new_object();
		char rights[BM_RIGHTS_LEN];

		bm_json_add_string(item, "what", own->list[i].what);
		bm_json_add_string(item, "path", own->list[i].path);
		bm_json_add_string(item, "rights", bm_rights_name(own->list[i].rights, rights));
		json_object_array_add(list, item);
	}
	bm_json_add(fields, "objects", list);
	r = bench_record(d, bench, "own-objects", fields, err);
	for (size_t i = 0; r == 0 && i < own->count; i++) {
		struct bm_grant grant = { .rights = own->list[i].rights }, before;
		uint64_t object;

		r = bm_object_mark(d->kernel, own->list[i].fd, &object, err);
		/* Two mounts of one inode (/dev/null over masked files): what both allow. */
		if (r == 0 && bm_grant_get(d->kernel, bench->id, object, &before) == 0)
			grant.rights &= before.rights;
		if (r == 0)
			r = bm_grant_put(d->kernel, bench->id, object, &grant, err);
	}
	return r;
}

static int collect_own(const struct bench *bench, struct bm_own_list *ret, struct bm_error *err)
{
	autotarget target = BM_TARGET_NONE;
	int fd, r = bm_target_open(bench->pid, &target, err);

	if (r == 0)
		r = bm_own_collect(&target, ret, err);
	if (r < 0 || bench->origin != ORIGIN_CREATED)
		return r;
	r = bm_box_scratch(bench->name, &fd);
	if (r == 0)
		r = bm_own_add(ret, "scratch", "/work", BM_R | BM_W | BM_X, fd);
	return r < 0 ? bm_fail_errno(err, -r, "scratch of Bench %s", bench->name) : 0;
}

static int mark_init(struct daemon *d, const struct bench *bench, const char *runtime_root,
		     const char *container, struct bm_error *err)
{
	autoclose pidfd = (int)syscall(SYS_pidfd_open, bench->pid, 0);

	if (pidfd < 0)
		return bm_fail_errno(err, errno, "init of Bench %s", bench->name);
	if (!bm_container_waits(runtime_root, container))
		return bm_fail(err, EAGAIN, NULL, "attach it again",
			       "container %s was started while it was attached", container);
	return bm_arrival_mark(d->kernel, pidfd, err);
}

/* With its tasks frozen: nothing of the container happens between looking and enforcing. */
static int bring_up_frozen(struct daemon *d, struct bench *bench, const char *runtime_root,
			   const char *waiting, struct bm_error *err)
{
	char path[BM_CGROUP_PATH];
	autoclose netns = -1;
	autoown own = {};
	int r = bm_cgroup_of_pid(bench->pid, path, err);

	if (r == 0 && strncmp(path, bench->cgroup.path, strlen(bench->cgroup.path)))
		r = bm_fail(err, EAGAIN, "own-cgroup", "attach it again",
			    "process %d has left cgroup %s", bench->pid, bench->cgroup.path);
	if (r == 0)
		r = bm_admit(bench->pid, &bench->cgroup, err);
	if (r == 0)
		r = collect_own(bench, &own, err);
	if (r == 0)
		r = bench_netns(bench, &netns, err);
	if (r == 0)
		r = bm_nft_setup(netns, err);
	if (r < 0)
		return r;
	r = bm_bench_enter(d->kernel, bench->id, bench->cgroup.fd, bench->cgroup.id,
			   bench->cgroup.level, err);
	if (r == 0)
		r = admit_own(d, bench, &own, err);
	if (r == 0 && waiting)
		r = mark_init(d, bench, runtime_root, waiting, err);
	if (r < 0) {
		bm_bench_leave(d->kernel, bench->id, bench->cgroup.id, NULL);
		bm_nft_destroy(netns, NULL);
	}
	return r;
}

int bench_bring_up(struct daemon *d, struct bench *bench, const char *cgroup_path,
		   const char *runtime_root, const char *waiting, struct bm_error *err)
{
	struct json_object *fields;
	int r = bm_cgroup_open(cgroup_path, &bench->cgroup, err);

	if (r == 0)
		r = refuse_overlap(d, bench, &bench->cgroup, err);
	if (r < 0)
		return r;
	r = bm_cgroup_freeze(&bench->cgroup, true, err);
	if (r == 0)
		r = bring_up_frozen(d, bench, runtime_root, waiting, err);
	if (r == 0) {
		fields = json_object_new_object();
		bm_json_add_int(fields, "pid", bench->pid);
		bm_json_add_int(fields, "pid_start", (int64_t)bench->pid_start);
		bm_json_add_string(fields, "cgroup", bench->cgroup.path);
		bm_json_add_int(fields, "cgroup_id", (int64_t)bench->cgroup.id);
		r = bench_record(d, bench, "ready", fields, err);
		if (r < 0)
			bm_bench_leave(d->kernel, bench->id, bench->cgroup.id, NULL);
	}
	if (bm_cgroup_freeze(&bench->cgroup, false, err) < 0 && r == 0)
		r = -EIO;
	if (r == 0)
		bench->state = BENCH_READY;
	return r;
}

static int let_go(const struct bench *bench, struct bm_error *err)
{
	autoclose netns = -1;

	if (!bench_alive(bench) || bench_netns(bench, &netns, NULL) < 0)
		return 0;
	return bm_nft_destroy(netns, err);
}

/*
 * Ends a Bench in whatever state it is. An attached container lives on, without walls; one of our
 * own is killed before its walls come down.
 */
int bench_end(struct daemon *d, struct bench *bench, const char *event, struct json_object *fields,
	      struct bm_error *err)
{
	int r = 0;

	if (bench->origin == ORIGIN_CREATED && bench->cgroup.fd >= 0)
		r = bm_cgroup_kill(&bench->cgroup, err);
	while (r == 0 && bench->grants)
		r = grant_revoke(d, bench, bench->grants, err);
	if (r == 0 && bench->linked)
		r = bm_link_destroy(bench->id, err);
	/* While it is being made, bench_bring_up() undoes what it did; it may be another's
	 * container. */
	if (r == 0 && bench->origin == ORIGIN_ATTACHED && bench->state != BENCH_MAKING)
		r = let_go(bench, err);
	/* The last denials still find the Bench's name. */
	bm_events_consume(d->kernel);
	if (r == 0)
		r = bm_bench_leave(d->kernel, bench->id, bench->cgroup.id, err);
	if (r == 0 && bench->origin == ORIGIN_CREATED)
		r = bm_box_destroy(bench->name, err);
	if (r < 0) {
		json_object_put(fields);
		bench->state = BENCH_BROKEN;
		return r;
	}
	r = bench_record(d, bench, event, fields, err);
	model_remove(&d->model, bench);
	return r;
}
