// SPDX-License-Identifier: GPL-2.0-only
/* How a Bench begins and ends, in steps that undo themselves. */
#include "gatekeeperd/lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"
#include "bench/admit.h"
#include "bench/box.h"
#include "bench/container.h"
#include "bench/own.h"
#include "bench/powers.h"
#include "gatekeeperd/adopt.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/ask.h"
#include "gatekeeperd/door.h"
#include "gatekeeperd/freeze.h"
#include "gatekeeperd/lifetime.h"
#include "gatekeeperd/nested.h"
#include "gatekeeperd/names.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/owner.h"
#include "gatekeeperd/recall.h"
#include "gatekeeperd/rubbish.h"
#include "gatekeeperd/receipt.h"
#include "gatekeeperd/record.h"
#include "gatekeeperd/search.h"
#include "network/link.h"

void now_text(char ret[40])
{
	bm_time_format(bm_now_ns(CLOCK_REALTIME), ret);
}

bool bench_alive(const struct bench *bench)
{
	return bench->target.root >= 0 && bench->pid_start &&
	       pid_start_time(bench->pid) == bench->pid_start;
}

/* The end of a container's init, watched for as long as there is a Bench that holds it. */
struct init_watch {
	struct watch watch;
	struct init_watch *next;
	uint32_t bench;
	bool dead;
};

static void unwatch_init(struct daemon *d, struct init_watch *init)
{
	if (init->dead)
		return;
	daemon_unwatch(d, &init->watch);
	bm_close(init->watch.fd);
	init->watch.fd = -1;
	init->dead = true;
}

/* What is held of a container keeps its mounts and its network alive: let go when it ends. */
static void on_init_exit(struct daemon *d, struct watch *w, uint32_t events)
{
	struct init_watch *init = (struct init_watch *)w;
	struct bench *bench = model_find_id(&d->model, init->bench);
	struct bm_error err = {};
	int r = 0;

	(void)events;
	unwatch_init(d, init);
	if (!bench || bench->ends)
		return;
	/* A broker's socket would hold its network, too. */
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (g->kind == GRANT_BROKER)
			broker_stop(d, bench, g);
	bm_target_close(&bench->target);
	daemon_log(LOG_LEVEL_INFO, "the container of Bench %s has ended", bench->name);
	/* Its pid namespace has ended with the holder. What came to be elsewhere ends here. */
	if (bench->origin == ORIGIN_CREATED && bench->cgroup.fd >= 0)
		r = bm_cgroup_kill(&bench->cgroup, &err);
	if (bench_record(d, bench, "ended", NULL, &err) < 0 || r < 0)
		daemon_log_error("end of a Bench", &err);
}

void inits_bury(struct daemon *d)
{
	struct init_watch **at = &d->inits;

	while (*at) {
		struct init_watch *init = *at;

		if (init->dead) {
			*at = init->next;
			free(init);
		} else {
			at = &init->next;
		}
	}
}

static void bench_release(struct daemon *d, struct bench *bench)
{
	bm_target_close(&bench->target);
	places_close(&bench->places);
	for (struct init_watch *init = d->inits; init; init = init->next)
		if (init->bench == bench->id)
			unwatch_init(d, init);
}

int bench_hold(struct daemon *d, struct bench *bench, const char *rootfs, struct bm_error *err)
{
	autofree struct init_watch *init = calloc(1, sizeof(*init));
	autoclose pidfd = (int)syscall(SYS_pidfd_open, bench->pid, 0);
	int r;

	if (!init)
		return bm_fail_errno(err, ENOMEM, "Bench %s", bench->name);
	if (pidfd < 0)
		return bm_fail_errno(err, errno, "init of Bench %s", bench->name);
	r = bm_target_open(bench->pid, rootfs, &bench->target, err);
	if (r < 0)
		return r;
	/* Of the process that was meant, not of one that got its number meanwhile. */
	if (pid_start_time(bench->pid) != bench->pid_start) {
		bm_target_close(&bench->target);
		return bm_fail_errno(err, ESRCH, "init of Bench %s", bench->name);
	}
	init->watch = (struct watch){ .fd = pidfd, .ready = on_init_exit };
	init->bench = bench->id;
	r = daemon_watch(d, &init->watch, EPOLLIN);
	if (r < 0)
		return bm_fail_errno(err, -r, "init of Bench %s", bench->name);
	TAKE_FD(pidfd);
	init->next = d->inits;
	d->inits = TAKE_PTR(init);
	return 0;
}

int bench_record(struct daemon *d, const struct bench *bench, const char *event,
		 struct json_object *more, struct bm_error *err)
{
	struct json_object *fields = more ?: json_object_new_object();
	int r;

	bm_json_add_string(fields, "bench", bench->name);
	bm_json_add_int(fields, "bench_id", bench->id);
	/* Each line says whose it is, so that each can be shown to them alone. */
	if (bench->owner)
		bm_json_add_int(fields, "owner", bench->owner);
	json_object_get(fields);
	r = daemon_record(d, event, fields, err);
	if (r == 0 && !d->restating)
		standing_keep(model_find_id(&d->model, bench->id), event, fields);
	json_object_put(fields);
	return r;
}

/* To who has not that one, without its name. */
static const char *shown_to(const struct bench *bench, const struct bench *other,
			    char name[BM_BENCH_NAME_LEN + 8])
{
	if (!bench_is_of(other, bench->owner))
		return "a Bench";
	snprintf(name, BM_BENCH_NAME_LEN + 8, "Bench %s", other->name);
	return name;
}

/* One subtree, one Bench: nested ones would each be half of what decides. */
int bench_refuse_overlap(struct daemon *d, const struct bench *bench,
			 const struct bm_cgroup_ref *cgroup, struct bm_error *err)
{
	char name[BM_BENCH_NAME_LEN + 8];

	for (const struct bench *b = d->model.benches; b; b = b->next) {
		size_t ours = strlen(cgroup->path), theirs = strlen(b->cgroup.path);
		size_t common = ours < theirs ? ours : theirs;

		if (b == bench || !theirs || strncmp(cgroup->path, b->cgroup.path, common))
			continue;
		if (ours == theirs)
			return bm_fail(err, EEXIST, "one-bench", "detach that first",
				       "the container is %s already", shown_to(bench, b, name));
		if (cgroup->path[common] == '/' || b->cgroup.path[common] == '/')
			return bm_fail(err, EBUSY, "one-bench", "attach the container itself",
				       "cgroup %s lies above or below that of %s", cgroup->path,
				       shown_to(bench, b, name));
	}
	return 0;
}

/*
 * The Bench's own objects: marked and written to the ledger before they may be used; with them what
 * has been detached.
 */
static int admit_own(struct daemon *d, struct bench *bench, const struct bm_own_list *own,
		     const struct bm_foreign_list *gone, struct bm_error *err)
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
	if (gone->count) {
		bench->detached = detached_to_json(gone);
		bm_json_add(fields, "detached", json_object_get(bench->detached));
	}
	r = bench_record(d, bench, "own-objects", fields, err);
	STEP(ADMIT_SAID);
	for (size_t i = 0; r == 0 && i < own->count; i++) {
		struct bm_grant grant = { .rights = own->list[i].rights }, before;
		uint64_t object;

		r = bm_object_mark(d->kernel, own->list[i].fd, &object, err);
		/* Two mounts of one inode (/dev/null over masked files): what both allow. */
		if (r == 0 && bm_grant_get(d->kernel, bench->id, object, &before) == 0)
			grant.rights &= before.rights;
		if (r == 0)
			r = bm_grant_put(d->kernel, bench->id, object, &grant, err);
		STEP(ADMIT_ONE);
	}
	return r;
}

static struct bm_own_place own_place(const struct bench *bench)
{
	return (struct bm_own_place){
		.view = bench->origin == ORIGIN_CREATED ? "" : BM_HOST_VIEW,
		.cgroup = bench->cgroup.path,
		.host_pid = bm_target_is_hosts(&bench->target, BM_NS_PID),
		.shared_ipc = bench->shared & 1u << BM_NS_IPC,
	};
}

static int collect_own(const struct bench *bench, struct bm_own_list *ret,
		       struct bm_foreign_list *ret_foreign, struct bm_error *err)
{
	bool ours = bench->origin == ORIGIN_CREATED;
	struct bm_own_place place = own_place(bench);
	int fd, r = bm_own_collect(&bench->target, &place, ret, ours ? NULL : ret_foreign, err);

	if (r == 0 && ours) {
		r = bm_box_scratch(bench->name, &fd);
		if (r == 0)
			r = bm_own_add(ret, "scratch", "/work", BM_R | BM_W | BM_X, fd);
		if (r < 0)
			return bm_fail_errno(err, -r, "scratch of Bench %s", bench->name);
	}
	return r;
}

/* By its runtime's own word, where there is one: the root file system is what it was made with. */
static int check_rootfs(const struct bench *bench, const char *rootfs, struct bm_error *err)
{
	struct stat wanted, found;
	char path[PATH_MAX];

	if (!rootfs)
		return 0;
	snprintf(path, sizeof(path), BM_HOST_VIEW "%s", rootfs);
	if (stat(path, &wanted) < 0 || fstat(bench->target.root, &found) < 0)
		return bm_fail_errno(err, errno, "%s", rootfs);
	return wanted.st_dev == found.st_dev && wanted.st_ino == found.st_ino
		       ? 0
		       : bm_fail(err, EPERM, "own-objects", "start the container anew",
				 "its root is not %s, with which crun made it", rootfs);
}

static int mark_init(struct daemon *d, const struct bench *bench, const struct bring_up *how,
		     struct bm_error *err)
{
	autoclose pidfd = (int)syscall(SYS_pidfd_open, bench->pid, 0);

	if (pidfd < 0)
		return bm_fail_errno(err, errno, "init of Bench %s", bench->name);
	if (how->runtime_root && !bm_container_waits(how->runtime_root, how->waiting))
		return bm_fail(err, EAGAIN, NULL, "attach it again",
			       "container %s was started while it was attached", how->waiting);
	return bm_arrival_mark(d->kernel, bench->id, pidfd, err);
}

static void add_detached(const struct bm_foreign_list *gone, struct bm_error *err)
{
	size_t len = err ? strlen(err->message) : 0;

	if (!err || !gone->count)
		return;
	for (size_t i = 0; i < gone->count && len < sizeof(err->message); i++)
		len += (size_t)snprintf(
			err->message + len, sizeof(err->message) - len, "%s %s",
			i ? "," : "; detached from it meanwhile:", gone->list[i].path);
	len = strlen(err->remedy);
	snprintf(err->remedy + len, sizeof(err->remedy) - len,
		 "%sstart the container anew to have its volumes back", len ? "; " : "");
}

/* Behind the walls already, and with nothing left to check that could still refuse it. */
static int clear_own(const struct bench *bench, const struct bm_foreign_list *foreign,
		     const struct bring_up *how, struct bm_own_list *own,
		     struct bm_foreign_list *gone, struct bm_error *err)
{
	struct bm_own_place place = own_place(bench);
	int r = 0;

	if (how->adopt)
		r = adoption_take(how->adopt, &bench->target, foreign);
	if (r == 0 && bench->origin == ORIGIN_ATTACHED) {
		bm_own_done(own);
		r = bm_own_clear(&bench->target, &place, own, gone, err);
	}
	return r;
}

/* Undoes bring_up_frozen() as far as it came. */
static void take_down(struct daemon *d, struct bench *bench)
{
	door_close(d, bench);
	bm_bench_leave(d->kernel, bench->id, NULL, NULL);
	bench_nft_end(bench, NULL);
}

/* With its tasks frozen: nothing of the container happens between looking and enforcing. */
static int bring_up_frozen(struct daemon *d, struct bench *bench, const struct bring_up *how,
			   struct bm_error *err)
{
	bool ours = bench->origin == ORIGIN_CREATED;
	size_t len = strlen(bench->cgroup.path);
	char path[BM_CGROUP_PATH];
	autoforeign foreign = {}, gone = {};
	autoown own = {};
	int r = bm_cgroup_of_pid(bench->pid, path, err);

	/* What a process has mapped already, no hook sees again. */
	if (r == 0 && bench->exec == EXEC_IMAGE && !how->waiting)
		r = bm_fail(err, EBUSY, "exec-image",
			    "attach it by its id, created and not started, or with --exec own",
			    "the container runs already and may execute what is not of its image");
	if (r == 0 && (strncmp(path, bench->cgroup.path, len) || (path[len] && path[len] != '/')))
		r = bm_fail(err, EAGAIN, "own-cgroup", "attach it again",
			    "process %d has left cgroup %s", bench->pid, bench->cgroup.path);
	if (r == 0)
		r = bench_hold(d, bench, how->waiting && !how->runtime_root ? how->rootfs : NULL,
			       err);
	if (r == 0 && !ours)
		r = target_is_of(&bench->target, &bench->cgroup, bench->owner, err);
	if (r == 0)
		r = bm_admit(&bench->target, &bench->cgroup, how->rootfs || ours, err);
	/* What benchmon makes shares nothing. */
	if (r == 0 && !ours)
		r = bm_namespaces_shared(&bench->target, &bench->cgroup, &bench->shared, err);
	if (r == 0)
		r = check_rootfs(bench, how->rootfs, err);
	if (r == 0)
		r = collect_own(bench, &own, &foreign, err);
	if (r == 0)
		r = bm_grants_room(d->kernel, own.count, err);
	if (r == 0)
		r = bench_nft_setup(bench, err);
	STEP(BRING_UP_NFT);
	if (r == 0)
		r = bm_bench_enter(d->kernel, bench->id, bench->cgroup.fd, bench->cgroup.id,
				   bench->cgroup.level, bench_flags(bench),
				   (uint32_t)bench->target.inode[BM_NS_USER], err);
	STEP(BRING_UP_ENTERED);
	if (r == 0 && !how->waiting)
		r = bm_powers_check(&bench->cgroup, err);
	if (r == 0 && !how->waiting)
		r = bm_strangers_check(d->kernel, bench->id, err);
	if (r == 0 && !how->waiting)
		r = recall_attached(d, bench, &foreign, err);
	STEP(BRING_UP_RECALLED);
	if (r == 0)
		r = clear_own(bench, &foreign, how, &own, &gone, err);
	STEP(BRING_UP_CLEARED);
	if (bench->exec == EXEC_IMAGE)
		bm_own_image(&own);
	/* After that: the client executes in any mode. */
	if (r == 0)
		door_open(d, bench, &own);
	if (r == 0)
		r = admit_own(d, bench, &own, &gone, err);
	if (r == 0 && how->waiting)
		r = mark_init(d, bench, how, err);
	STEP(BRING_UP_MARKED);
	if (r < 0)
		add_detached(&gone, err);
	memcpy(bench->namespaces, bench->target.inode, sizeof(bench->namespaces));
	return r;
}

static int record_ready(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	struct json_object *fields = json_object_new_object(),
			   *namespaces = json_object_new_object();

	bm_json_add_int(fields, "pid", bench->pid);
	bm_json_add_int(fields, "pid_start", (int64_t)bench->pid_start);
	bm_json_add_string(fields, "cgroup", bench->cgroup.path);
	bm_json_add_int(fields, "cgroup_id", (int64_t)bench->cgroup.id);
	for (int i = 0; i < BM_NS_MAX; i++)
		bm_json_add_int(namespaces, bm_namespace_names[i], (int64_t)bench->namespaces[i]);
	bm_json_add(fields, "namespaces", namespaces);
	bm_json_add(fields, "shared", bench_shared_to_json(bench));
	lifetime_begin(fields, bench);
	return bench_record(d, bench, "ready", fields, err);
}

int bench_bring_up(struct daemon *d, struct bench *bench, const struct bring_up *how,
		   struct bm_error *err)
{
	bool was;
	int r = bm_cgroup_pause(&bench->cgroup, &was, err);

	STEP(BRING_UP_PAUSED);
	if (r == 0)
		r = bring_up_frozen(d, bench, how, err);
	if (r == 0)
		r = record_ready(d, bench, err);
	STEP(BRING_UP_SAID);
	/* A container that was paused stays paused. */
	if (bm_cgroup_resume(&bench->cgroup, was, err) < 0 && r == 0)
		r = -EIO;
	if (r < 0)
		take_down(d, bench);
	else
		bench->state = BENCH_READY;
	return r;
}

/* The container goes on without walls: without nft of ours, and not kept frozen. */
static int let_go(struct bench *bench, struct bm_error *err)
{
	int r = bench_nft_end(bench, err);

	if (r == 0 && (bench->state == BENCH_BROKEN || bench->halted) && bench->cgroup.fd >= 0)
		r = bm_cgroup_resume(&bench->cgroup, false, err);
	return r;
}

/* The kernel side and what was made for it; each step finds nothing to do when done again. */
static int tear_down(struct daemon *d, struct bench *bench, struct bm_error *err)
{
	struct bm_stats last = {};
	int r = 0;

	bench->tearing = true;
	search_abandon(d, bench);
	freezings_give_up(d, bench, "was ended");
	if (bench->origin == ORIGIN_CREATED && bench->cgroup.fd >= 0)
		r = bm_cgroup_kill(&bench->cgroup, err);
	STEP(TEAR_DOWN_KILLED);
	while (r == 0 && bench->grants)
		r = grant_revoke(d, bench, nested_first(bench, bench->grants), NULL, err);
	door_close(d, bench);
	STEP(TEAR_DOWN_REVOKED);
	if (r == 0 && bench->linked)
		r = bm_link_destroy(bench->id, err);
	/* The last denials still find the Bench's name. */
	streams_settle(d);
	receipt_denials(d, bench);
	if (r == 0)
		r = bm_bench_leave(d->kernel, bench->id, &last, err);
	if (r == 0)
		streams_end(d, bench, last.seq);
	STEP(TEAR_DOWN_LEFT);
	if (r == 0 && bench->origin == ORIGIN_ATTACHED)
		r = let_go(bench, err);
	STEP(TEAR_DOWN_LET_GO);
	/* What is held of it would keep its mounts. */
	if (r == 0) {
		bench_release(d, bench);
		names_forget(bench);
	}
	if (r == 0 && bench->origin == ORIGIN_CREATED)
		r = bm_box_destroy(bench->name, err);
	return r;
}

/*
 * Ends a Bench in whatever state it is. An attached container lives on, without walls; one of our
 * own is killed before its walls come down. Without its end in the ledger it stays in the model, to
 * be ended again: else the next start would find a Bench that nobody ended.
 */
int bench_end_told(struct daemon *d, struct bench *bench, const char *event,
		   struct json_object *fields, struct json_object *reply, struct bm_error *err)
{
	const char *reason = fields ? bm_json_string(fields, "reason") : NULL;
	int r = tear_down(d, bench, err);

	if (!fields)
		fields = json_object_new_object();
	if (r == 0)
		asks_void(d, bench, "the Bench has ended");
	/* What never came to be has nothing to tell of. */
	if (r == 0 && bench->begun && (!reason || strcmp(reason, "half-made")))
		receipt_write(d, bench, event, fields, reply);
	STEP(END_RECEIPT);
	if (r == 0 && bench->begun)
		r = bench_record(d, bench, event, TAKE_PTR(fields), err);
	STEP(END_SAID);
	json_object_put(fields);
	if (r < 0) {
		bench->state = BENCH_BROKEN;
		bench->tearing = false;
		return r;
	}
	model_remove(&d->model, bench);
	recall_review(d);
	rubbish_collect(d);
	return 0;
}

int bench_end(struct daemon *d, struct bench *bench, const char *event, struct json_object *fields,
	      struct bm_error *err)
{
	return bench_end_told(d, bench, event, fields, NULL, err);
}
