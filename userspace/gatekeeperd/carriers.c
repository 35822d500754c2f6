// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/carriers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/above.h"
#include "base/cleanup.h"
#include "base/step.h"
#include "bench/foreign.h"
#include "bench/pin.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/rule_four.h"

#define RULE "no-relay"

/* --- which objects -----------------------------------------------------------------------------
 */

static int64_t born(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) < 0 || !(st.stx_mask & STATX_BTIME))
		return 0;
	return st.stx_btime.tv_sec * 1000000000ll + st.stx_btime.tv_nsec;
}

/* An inode's number is used again; with another time of birth it is another object. */
static const struct carrier *find(const struct model *model, const struct stat *st, int64_t born_ns)
{
	const struct carrier *c = model->carriers;

	while (c && (c->inode != st->st_ino || c->device != st->st_dev ||
		     (c->born_ns && born_ns && c->born_ns != born_ns)))
		c = c->next;
	return c;
}

struct sought {
	const struct model *model;
	const struct carrier *found;
};

static bool is_carrier(void *ctx, int fd, const struct stat *st)
{
	struct sought *sought = ctx;

	sought->found = find(sought->model, st, born(fd));
	return sought->found;
}

/* Whether path is, seen from there, that very file; then the directory that it is in. */
static int directory_in(const char *view, const char *path, const struct stat *st)
{
	const char *name = strrchr(path, '/') + 1;
	char dir[PATH_MAX + 32];
	autoclose fd = -1;
	struct stat there;

	snprintf(dir, sizeof(dir), "%s%.*s", view, (int)(name - path), path);
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstatat(fd, name, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return there.st_dev == st->st_dev && there.st_ino == st->st_ino ? TAKE_FD(fd) : -ENOENT;
}

/* A file has no ".."; it is looked for in this mount namespace and in the host's. */
static int directory_of(int fd, bool directory, const char *path, const struct stat *st)
{
	int dir;

	if (directory)
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	dir = directory_in("", path, st);
	return dir < 0 ? directory_in(BM_HOST_VIEW, path, st) : dir;
}

int carrier_above(const struct model *model, int fd, bool directory, const char *path,
		  const struct carrier **ret)
{
	struct sought sought = { model, NULL };
	autoclose dir = -1;
	struct stat st;
	int r;

	*ret = NULL;
	if (!model->carriers)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = find(model, &st, born(fd));
	if (*ret)
		return 0;
	dir = directory_of(fd, directory, path, &st);
	r = dir < 0 ? dir : bm_any_above(dir, is_carrier, &sought);
	*ret = sought.found;
	return r < 0 ? r : 0;
}

/* --- whom it reaches ---------------------------------------------------------------------------
 */

/* An object that becomes a carrier, and a Bench that can read one. */
struct spread {
	struct daemon *d;
	struct bm_mounts pins;
	struct item {
		struct bench *bench;
		const struct grant *grant;
	} * items;
	size_t count, room;
	struct bench *reached[64];
	size_t reached_count;
};

static int add_item(struct spread *s, struct bench *bench, const struct grant *g)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].grant == g)
			return 0;
	if (s->count == s->room) {
		size_t room = s->room * 2 + 16;
		struct item *items = reallocarray(s->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		s->items = items;
		s->room = room;
	}
	s->items[s->count++] = (struct item){ bench, g };
	return 0;
}

static int add_writable(struct spread *s, struct bench *bench)
{
	int r = 0;

	for (const struct grant *g = bench->grants; r == 0 && g; g = g->next)
		if (g->kind == GRANT_FILE && g->writable)
			r = add_item(s, bench, g);
	return r;
}

static bool overlap(const struct spread *s, uint64_t a, uint64_t b)
{
	return a == b || bm_pins_inside(&s->pins, a, b) || bm_pins_inside(&s->pins, b, a);
}

static bool reached(const struct spread *s, const struct bench *bench)
{
	for (size_t i = 0; i < s->reached_count; i++)
		if (s->reached[i] == bench)
			return true;
	return false;
}

static int reach(struct spread *s, const struct item *item, struct bench *other,
		 const struct grant *by, struct bm_error *err)
{
	if (other->ever & (WAY_EGRESS | WAY_BROKER))
		return bm_fail(err, EPERM, RULE, "revoke one of both, or work on a copy",
			       "%.200s, which Bench %s could write a secret to, can be read by "
			       "Bench %s (%s/%u), and that has, or had, egress",
			       item->grant->source, item->bench->name, other->name, other->name,
			       by->number);
	if (other->ever & WAY_SECRET || reached(s, other))
		return 0;
	if (s->reached_count == sizeof(s->reached) / sizeof(s->reached[0]))
		return bm_fail(err, E2BIG, RULE, "revoke what is not needed",
			       "more than %zu Benches could read it", s->reached_count);
	s->reached[s->reached_count++] = other;
	return add_writable(s, other);
}

/* The list grows while it is gone through. */
static int spread(struct spread *s, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->count; i++) {
		struct item item = s->items[i];

		for (struct bench *b = s->d->model.benches; r == 0 && b; b = b->next)
			for (const struct grant *g = b->grants; r == 0 && g; g = g->next)
				if (b != item.bench && g->kind == GRANT_FILE &&
				    overlap(s, item.grant->object, g->object))
					r = reach(s, &item, b, g, err);
	}
	return r;
}

/* --- in the ledger -----------------------------------------------------------------------------
 */

static int add(struct model *model, const struct carrier *like, const char *source)
{
	struct carrier *c = calloc(1, sizeof(*c)), **end = &model->carriers;

	if (!c)
		return -ENOMEM;
	*c = *like;
	c->next = NULL;
	c->source = strdup(source);
	while (*end)
		end = &(*end)->next;
	*end = c;
	model->carrier_count++;
	model->carrier_changes++;
	if (c->number > model->last_carrier)
		model->last_carrier = c->number;
	return 0;
}

static struct json_object *to_json(const struct carrier *c)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_int(json, "carrier", c->number);
	bm_json_add_string(json, "of", c->of);
	bm_json_add_string(json, "source", c->source ?: "");
	bm_json_add_int(json, "device", (int64_t)c->device);
	bm_json_add_int(json, "inode", (int64_t)c->inode);
	bm_json_add_int(json, "born_ns", c->born_ns);
	return json;
}

static int mark(struct daemon *d, const struct bench *bench, const struct grant *g,
		struct bm_error *err)
{
	struct carrier next = { .number = d->model.last_carrier + 1,
				.device = g->device,
				.inode = g->inode };
	struct stat st = { .st_dev = g->device, .st_ino = g->inode };
	uint64_t superblock;
	autoclose fd = -1;
	int r;

	if (bm_pin_open(bench->id, g->object, &superblock, &fd) == 0)
		next.born_ns = born(fd);
	if (find(&d->model, &st, next.born_ns))
		return 0;
	if (d->model.carrier_count >= CARRIERS_MAX)
		return bm_fail(err, ENOSPC, RULE, "`benchmon carrier clear` those that are clean",
			       "%d objects may carry secrets already", CARRIERS_MAX);
	snprintf(next.of, sizeof(next.of), "%s/%u", bench->name, g->number);
	next.source = (char *)(uintptr_t)g->source;
	r = daemon_record(d, "carrier", to_json(&next), err);
	STEP(CARRIER_SAID);
	return r < 0 ? r : add(&d->model, &next, g->source);
}

int carriers_begin(struct daemon *d, struct bench *bench, const struct grant *g,
		   struct bm_error *err)
{
	struct spread s = { .d = d };
	bool first = g->secret && !(bench->ever & WAY_SECRET);
	int r = 0;

	if (!g->secret && !(g->writable && bench->ever & WAY_SECRET))
		return 0;
	r = add_item(&s, bench, g);
	if (r == 0 && first)
		r = add_writable(&s, bench);
	if (r == 0)
		r = bm_pins_read_all(&s.pins, err);
	if (r == 0)
		r = spread(&s, err);
	for (size_t i = 0; r == 0 && i < s.reached_count; i++) {
		daemon_log(LOG_LEVEL_INFO, "Bench %s can read what %s/%u makes a carrier",
			   s.reached[i]->name, bench->name, g->number);
		r = rule_four_reached(d, s.reached[i], err);
	}
	for (size_t i = 0; r == 0 && i < s.count; i++)
		r = mark(d, s.items[i].bench, s.items[i].grant, err);
	bm_mounts_done(&s.pins);
	free(s.items);
	return r == -ENOMEM ? bm_fail_errno(err, ENOMEM, "carriers") : r;
}

static struct carrier *by_number(const struct model *model, int64_t number)
{
	struct carrier *c = model->carriers;

	while (c && c->number != number)
		c = c->next;
	return c;
}

static void drop(struct model *model, struct carrier *c)
{
	struct carrier **at = &model->carriers;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	model->carrier_count--;
	free(c->source);
	free(c);
}

void carriers_free(struct model *model)
{
	while (model->carriers)
		drop(model, model->carriers);
}

int carrier_replay(struct model *model, const char *event, struct json_object *json)
{
	const char *source = bm_json_string(json, "source"), *of = bm_json_string(json, "of");
	int64_t number, device, inode, born_ns;
	struct carrier next = {}, *there;

	if (bm_json_int(json, "carrier", &number) < 0 || number <= 0 || number > UINT32_MAX)
		return -EBADMSG;
	there = by_number(model, number);
	if (!strcmp(event, "carrier-clear")) {
		if (there)
			drop(model, there);
		return there ? 0 : -EBADMSG;
	}
	if (there || !source || !of || strlen(of) >= sizeof(next.of) ||
	    bm_json_int(json, "device", &device) < 0 || bm_json_int(json, "inode", &inode) < 0 ||
	    bm_json_int(json, "born_ns", &born_ns) < 0)
		return -EBADMSG;
	next.number = (uint32_t)number;
	next.device = (uint64_t)device;
	next.inode = (uint64_t)inode;
	next.born_ns = born_ns;
	snprintf(next.of, sizeof(next.of), "%s", of);
	return add(model, &next, source);
}

int carriers_restate(struct daemon *d, struct bm_error *err)
{
	int r = 0;

	for (const struct carrier *c = d->model.carriers; r == 0 && c; c = c->next)
		r = daemon_record(d, "carrier", to_json(c), err);
	return r;
}

/* --- requests ----------------------------------------------------------------------------------
 */

#define PAGE_ROOM (BM_MESSAGE_MAX - 16384)

int request_carriers(struct daemon *d, struct connection *c, struct bm_message *message,
		     struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *items;
	size_t offset, at = 0, used = 0;
	int r = only_root(c, "what carries secrets is everybody's: only root sees the list", err);

	if (r == 0)
		r = offset_of_request(message->json, &offset, err);
	if (r < 0)
		return r;
	items = json_object_new_array();
	*ret_reply = json_object_new_object();
	for (const struct carrier *one = d->model.carriers; one; one = one->next, at++) {
		struct json_object *item;

		if (at < offset)
			continue;
		item = to_json(one);
		used += strlen(json_object_to_json_string_ext(item, 0)) + 1;
		if (used > PAGE_ROOM && at > offset) {
			json_object_put(item);
			bm_json_add_int(*ret_reply, "next", (int64_t)at);
			break;
		}
		json_object_array_add(items, item);
	}
	bm_json_add(*ret_reply, "items", items);
	return 0;
}

/* Whether a Bench could write a secret to it this very moment, or has it as one. */
static const struct grant *held(const struct model *model, const struct carrier *c,
				const struct bench **ret)
{
	for (const struct bench *b = model->benches; b; b = b->next)
		for (const struct grant *g = b->grants; g; g = g->next) {
			*ret = b;
			if (g->kind == GRANT_FILE && b->ever & WAY_SECRET &&
			    (g->writable || g->secret) && g->device == c->device &&
			    g->inode == c->inode)
				return g;
		}
	return NULL;
}

int request_carrier_clear(struct daemon *d, struct connection *c, struct bm_message *message,
			  struct json_object **ret_reply, struct bm_error *err)
{
	const struct bench *bench;
	const struct grant *g;
	struct json_object *fields;
	struct carrier *there;
	char remedy[64];
	int64_t number;
	int r = only_root(
		c, "what carries secrets is everybody's: only root takes one off the list", err);

	if (r < 0)
		return r;
	if (bm_json_int(message->json, "carrier", &number) < 0)
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "carrier-clear: \"carrier\" is missing");
	there = by_number(&d->model, number);
	if (!there)
		return bm_fail(err, ENOENT, RULE, "see `benchmon carrier ls`",
			       "there is no carrier %lld", (long long)number);
	g = held(&d->model, there, &bench);
	if (g) {
		snprintf(remedy, sizeof(remedy), "revoke %s/%u first", bench->name, g->number);
		return bm_fail(err, EBUSY, RULE, remedy,
			       "carrier %u is granted to Bench %s, which has, or had, a secret",
			       there->number, bench->name);
	}
	fields = json_object_new_object();
	bm_json_add_int(fields, "carrier", there->number);
	bm_json_add_string(fields, "source", there->source ?: "");
	bm_json_add_int(fields, "uid", c->uid);
	r = daemon_record(d, "carrier-clear", fields, err);
	if (r < 0)
		return r;
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "cleared", to_json(there));
	drop(&d->model, there);
	return 0;
}
