// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looking at outputs takes as long as they are large, so a helper does it, one grant after another,
 * while its tasks can't write any more and its grants still stand. Then all of it ends at once.
 */
#include "gatekeeperd/ending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"
#include "bench/mounts.h"
#include "bench/outputs.h"
#include "bench/pin.h"
#include "gatekeeperd/freeze.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/lifetime.h"
#include "gatekeeperd/receipt.h"
#include "gatekeeperd/search.h"

/* The helper ends by itself. Where the kernel keeps it in a read, we end it so much later. */
#define SLACK_MS 10000
#define MS_NS 1000000ull

struct ending {
	struct watch watch; /* first: a watch is cast to its ending. The helper; -1: none */
	struct ending *next;
	struct connection *connection; /* NULL: nobody waits */
	uint32_t bench, grant;         /* that is looked at */
	struct bm_collecting collecting;
	struct bm_outputs_limits left;
	uint64_t deadline_ns, due_ns; /* CLOCK_BOOTTIME: of all of it; of the helper */
	const char *event;
	struct json_object *fields, *reply;
	bool dead;
};

/*
 * Whoever serves files of other kinds may keep a reader waiting without end, and what waits in the
 * kernel can't even be killed.
 */
static bool is_local(const char *fstype)
{
	static const char *const kinds[] = { "ext2", "ext3",     "ext4",  "xfs",     "btrfs",
					     "f2fs", "bcachefs", "tmpfs", "overlay", "vfat",
					     "zfs",  "exfat",    "ntfs3", "jfs",     NULL };

	for (size_t i = 0; kinds[i]; i++)
		if (!strcmp(fstype, kinds[i]))
			return true;
	return false;
}

static void let_go(struct ending *e)
{
	e->dead = true;
	if (e->connection)
		e->connection->ending = NULL;
	e->connection = NULL;
	json_object_put(e->fields);
	json_object_put(e->reply);
	e->fields = e->reply = NULL;
}

void ending_unheard(struct ending *e)
{
	if (e)
		e->connection = NULL;
}

void endings_bury(struct daemon *d)
{
	struct ending **at = &d->endings;

	while (*at) {
		struct ending *e = *at;

		if (e->dead) {
			*at = e->next;
			free(e);
		} else {
			at = &e->next;
		}
	}
}

void endings_abandon(struct daemon *d)
{
	for (struct ending *e = d->endings; e; e = e->next) {
		if (e->watch.fd >= 0) {
			daemon_unwatch(d, &e->watch);
			e->watch.fd = -1;
			bm_outputs_abandon(&e->collecting);
		}
		if (!e->dead)
			let_go(e);
	}
	for (struct bench *b = d->model.benches; b; b = b->next)
		if (b->halted && b->state != BENCH_BROKEN)
			bm_cgroup_resume(&b->cgroup, false, NULL);
	endings_bury(d);
}

void endings_review(struct daemon *d)
{
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME), next = 0;

	for (struct ending *e = d->endings; e; e = e->next) {
		if (e->watch.fd < 0)
			continue;
		/* Its socket says so, when it has gone. */
		if (now >= e->due_ns)
			bm_outputs_hurry(&e->collecting);
		else if (!next || e->due_ns < next)
			next = e->due_ns;
	}
	daemon_timer(d, TIMER_ENDING, next);
}

/* --- halting -------------------------------------------------------------------------------------
 */

/*
 * Frozen for a moment: should the daemon end meanwhile, the next one lets it go on, still a Bench.
 * One that can't be frozen is let go all the same: what it still writes, the receipt has not.
 */
static int halt(struct bench *bench, struct bm_error *err)
{
	struct bm_error why = {};
	bool was;

	if (bench->cgroup.fd < 0)
		return 0;
	if (bench->origin == ORIGIN_CREATED)
		return bm_cgroup_kill(&bench->cgroup, err);
	if (!bench_alive(bench))
		return 0;
	if (bm_cgroup_pause(&bench->cgroup, &was, &why) < 0)
		daemon_log_error("freeze what is detached", &why);
	bench->halted = !was;
	return 0;
}

/* --- looking -------------------------------------------------------------------------------------
 */

/* Other grants tell of themselves; excepted names were never its to write. */
static size_t list_apart(const struct bench *bench, const struct grant *g,
			 struct bm_outputs_apart *list)
{
	size_t count = 0;

	for (const struct grant *o = bench->grants; o; o = o->next)
		if (o != g && o->kind == GRANT_FILE)
			list[count++] = (struct bm_outputs_apart){ o->device, o->inode };
	return count;
}

static int open_grant(const struct bench *bench, const struct grant *g, int *ret_fd,
		      struct stat *ret_st, struct bm_error *err)
{
	char fstype[32];
	uint64_t superblock;
	int r = bm_pin_fstype(bench->id, g->object, fstype, sizeof(fstype));

	if (r == 0 && !is_local(fstype))
		return bm_fail(err, ENOTSUP, NULL, NULL,
			       "not looked at: a file system (%s) may keep who reads it waiting",
			       fstype);
	if (r == 0)
		r = bm_pin_open(bench->id, g->object, &superblock, ret_fd);
	if (r == 0 && fstat(*ret_fd, ret_st) < 0)
		r = -errno;
	if (r < 0)
		return bm_fail(err, -r, NULL, NULL, "not looked at: its pin has gone");
	return 0;
}

static uint64_t ms_left(const struct ending *e)
{
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME);

	return now < e->deadline_ns ? (e->deadline_ns - now) / MS_NS : 0;
}

/* As who granted it, or where that is root, as whose it is: root's own files as root. */
static int look_at(struct ending *e, const struct bench *bench, const struct grant *g,
		   struct bm_error *err)
{
	autofree struct bm_outputs_apart *apart = calloc(bench->grant_count + 1, sizeof(*apart));
	autofree const char **names = calloc(g->except_count + 1, sizeof(*names));
	struct bm_outputs_look look = { .limits = e->left, .apart = apart, .names = names };
	autoclose fd = -1;
	uint64_t since;
	struct stat st;
	int r;

	if (!apart || !names)
		return bm_fail_errno(err, ENOMEM, "not looked at");
	r = open_grant(bench, g, &fd, &st, err);
	if (r < 0)
		return r;
	if (bm_time_parse(g->created, &since) < 0)
		return bm_fail(err, EBADMSG, NULL, NULL, "not looked at: nobody knows since when");
	for (size_t i = 0; i < g->except_count; i++)
		names[i] = g->excepts[i].name;
	look.fd = fd;
	look.since_ns = (int64_t)since;
	look.uid = g->confirmed_uid ?: st.st_uid;
	look.gid = st.st_gid;
	look.apart_count = list_apart(bench, g, apart);
	look.limits.ms = (unsigned)ms_left(e);
	r = bm_outputs_start(&look, &e->collecting, err);
	if (r == 0)
		e->due_ns = bm_now_ns(CLOCK_BOOTTIME) + (look.limits.ms + SLACK_MS) * MS_NS;
	return r;
}

static struct grant *next_output(struct bench *bench, uint32_t after)
{
	struct grant *next = NULL;

	for (struct grant *g = bench->grants; g; g = g->next)
		if (g->kind == GRANT_FILE && g->writable && g->number > after &&
		    (!next || g->number < next->number))
			next = g;
	return next;
}

static int finish(struct daemon *d, struct ending *e, struct bench *bench, struct bm_error *err)
{
	struct json_object *fields = e->fields;
	int r;

	e->fields = NULL;
	r = bench_end_told(d, bench, e->event, fields, e->reply, err);
	bench = r < 0 ? model_find_id(&d->model, e->bench) : NULL;
	if (bench)
		bench->ends = false;
	return r;
}

static void on_looked(struct daemon *d, struct watch *w, uint32_t events);

/* 0: a helper is at it; 1: the Bench has ended. */
static int go_on(struct daemon *d, struct ending *e, struct bench *bench, struct bm_error *err)
{
	struct grant *g;
	int r;

	while ((g = next_output(bench, e->grant))) {
		struct bm_error why = {};

		e->grant = g->number;
		if (look_at(e, bench, g, &why) < 0) {
			receipt_output(bench, g, NULL, why.message);
			continue;
		}
		e->watch = (struct watch){ .fd = e->collecting.socket, .ready = on_looked };
		if (daemon_watch(d, &e->watch, EPOLLIN) == 0) {
			STEP(END_LOOKS);
			endings_review(d);
			return 0;
		}
		e->watch.fd = -1;
		bm_outputs_abandon(&e->collecting);
		receipt_output(bench, g, NULL, "not looked at: too much was going on");
	}
	r = finish(d, e, bench, err);
	return r < 0 ? r : 1;
}

static void spend(struct bm_outputs_limits *left, const struct bm_outputs *outputs)
{
	const struct bm_outputs_counts *c = &outputs->counts;

	left->files -= outputs->count < left->files ? outputs->count : left->files;
	left->entries -= c->entries < left->entries ? c->entries : left->entries;
	left->bytes -= c->bytes < left->bytes ? c->bytes : left->bytes;
	left->paths -= c->paths < left->paths ? c->paths : left->paths;
}

static void take_answer(struct ending *e, struct bench *bench)
{
	struct grant *g = bench_grant(bench, e->grant);
	struct bm_error err = {};
	autooutputs outputs = {};
	int r = bm_outputs_finish(&e->collecting, 0, &outputs, &err);

	if (r == 0)
		spend(&e->left, &outputs);
	/* Revoked meanwhile: that it was. */
	if (g && r == 0)
		receipt_output(bench, g, &outputs, NULL);
	else if (g)
		receipt_output(bench, g, NULL, err.message);
}

static void on_looked(struct daemon *d, struct watch *w, uint32_t events)
{
	struct ending *e = (struct ending *)w;
	struct bench *bench = model_find_id(&d->model, e->bench);
	struct json_object *reply;
	struct bm_error err = {};
	int r;

	(void)events;
	daemon_unwatch(d, w);
	w->fd = -1;
	STEP(END_LOOKED);
	if (bench)
		take_answer(e, bench);
	else
		bm_outputs_abandon(&e->collecting);
	r = bench ? go_on(d, e, bench, &err) : 1;
	if (r == 0)
		return;
	reply = e->reply;
	e->reply = NULL;
	if (e->connection) {
		struct connection *c = e->connection;

		c->ending = NULL;
		connection_answer(d, c, r < 0 ? r : 0, reply, &err);
	} else {
		if (r < 0)
			daemon_log_error("end a Bench", &err);
		json_object_put(reply);
	}
	let_go(e);
	/* One whose time had come is tried again. */
	lifetime_await(d);
}

int ending_begin(struct daemon *d, struct connection *c, struct bench *bench, const char *event,
		 struct json_object *fields, struct json_object *reply,
		 struct json_object **ret_reply, struct bm_error *err)
{
	struct ending *e = bench->ends ? NULL : calloc(1, sizeof(*e));
	int r;

	if (!e) {
		json_object_put(fields);
		json_object_put(reply);
		return bench->ends ? bm_fail(err, EBUSY, NULL, "wait for it",
					     "Bench %s is being ended", bench->name)
				   : bm_fail_errno(err, ENOMEM, "end Bench %s", bench->name);
	}
	*e = (struct ending){ .watch.fd = -1,
			      .next = d->endings,
			      .bench = bench->id,
			      .collecting = { -1, 0 },
			      .left = BM_OUTPUTS_LIMITS,
			      .event = event,
			      .fields = fields,
			      .reply = reply };
	e->deadline_ns = bm_now_ns(CLOCK_BOOTTIME) + BM_OUTPUTS_MS * MS_NS;
	d->endings = e;
	bench->ends = true;
	search_abandon(d, bench);
	freezings_give_up(d, bench, "was ended");
	r = halt(bench, err);
	STEP(END_HALTED);
	r = r < 0 ? r : go_on(d, e, bench, err);
	if (r == 0) {
		e->connection = c;
		if (c)
			c->ending = e;
		return 0;
	}
	if (r < 0) {
		bench = model_find_id(&d->model, e->bench);
		if (bench)
			bench->ends = false;
	} else {
		*ret_reply = e->reply;
		e->reply = NULL;
	}
	let_go(e);
	return r < 0 ? r : 0;
}
