// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/adopt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/step.h"
#include "bench/relocate.h"
#include "gatekeeperd/grant_file.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/peer.h"
#include "gatekeeperd/secrets.h"
#include "gatekeeperd/secrets_search.h"

/* A list of volumes takes no more of a reply or of a ledger line. */
#define LIST_ROOM (BM_MESSAGE_MAX / 4)

struct volume {
	char *path, *source;
	char fstype[32];
	bool ro, directory;
	int tree;            /* -1: not offered, or no more */
	struct bm_error why; /* not offered */
};

struct adoption {
	uint32_t bench;
	struct volume *list;
	size_t count;
};

struct adoption *adoption_new(void)
{
	return calloc(1, sizeof(struct adoption));
}

void adoption_drop(struct adoption *a)
{
	for (size_t i = 0; a && i < a->count; i++) {
		bm_close(a->list[i].tree);
		free(a->list[i].path);
		free(a->list[i].source);
	}
	if (a)
		free(a->list);
	free(a);
}

void adoption_dropp(struct adoption **a)
{
	adoption_drop(*a);
}

void adoption_for(struct adoption *a, uint32_t bench)
{
	a->bench = bench;
}

/* What can be seen of it without touching the file system: whoever serves that may be frozen. */
static int refuse(const struct bm_foreign *f, struct bm_error *err)
{
	if (!S_ISDIR(f->mode) && !S_ISREG(f->mode))
		return bm_fail(err, EPERM, "object-kind", NULL,
			       "only directories and regular files are granted");
	if (f->below)
		return bm_fail(err, EBUSY, "no-submounts",
			       "grant the directories that are meant one by one",
			       "%.200s was mounted below it; what that covered would show",
			       f->below);
	if (!f->source)
		return bm_fail(err, ENOENT, "adopt", "mount it on the host and grant it from there",
			       "the host has not mounted it, so that nobody can say what it is");
	return bm_dest_check(f->path, err);
}

int adoption_take(struct adoption *a, const struct bm_target *target,
		  const struct bm_foreign_list *foreign)
{
	a->list = calloc(foreign->count, sizeof(*a->list));
	if (!a->list && foreign->count)
		return -ENOMEM;
	for (size_t i = 0; i < foreign->count; i++) {
		const struct bm_foreign *f = &foreign->list[i];
		struct volume *v = &a->list[a->count++];

		*v = (struct volume){ .ro = f->ro, .directory = S_ISDIR(f->mode), .tree = -1 };
		memcpy(v->fstype, f->fstype, sizeof(v->fstype));
		v->path = strdup(f->path);
		v->source = f->source ? strdup(f->source) : NULL;
		if (!v->path || (f->source && !v->source))
			return -ENOMEM;
		if (refuse(f, &v->why) == 0)
			bm_foreign_clone(target, f, &v->tree, &v->why);
	}
	return 0;
}

struct list {
	struct json_object *json;
	size_t used, left_out;
};

static void list_add(struct list *list, struct json_object *item)
{
	list->used += strlen(json_object_to_json_string_ext(item, 0)) + 1;
	if (list->used <= LIST_ROOM) {
		json_object_array_add(list->json, item);
		return;
	}
	json_object_put(item);
	list->left_out++;
}

/* Its last item says how many found no room. */
static struct json_object *list_end(struct list *list)
{
	struct json_object *item;

	if (list->left_out) {
		item = json_object_new_object();
		bm_json_add_int(item, "left_out", (int64_t)list->left_out);
		json_object_array_add(list->json, item);
	}
	return list->json;
}

struct json_object *adoption_to_json(const struct adoption *a)
{
	struct list list = { .json = json_object_new_array() };

	for (size_t i = 0; i < a->count; i++) {
		struct json_object *item = json_object_new_object();

		bm_json_add_int(item, "volume", (int64_t)i);
		bm_json_add_string(item, "path", a->list[i].path);
		if (a->list[i].tree < 0)
			bm_json_add(item, "refused", bm_error_to_json(&a->list[i].why));
		list_add(&list, item);
	}
	return list_end(&list);
}

struct json_object *detached_to_json(const struct bm_foreign_list *gone)
{
	struct list list = { .json = json_object_new_array() };

	for (size_t i = 0; i < gone->count; i++) {
		struct json_object *item = json_object_new_object();
		const struct bm_foreign *f = &gone->list[i];

		bm_json_add_string(item, "what", f->fstype);
		bm_json_add_string(item, "path", f->path);
		if (f->source)
			bm_json_add_string(item, "source", f->source);
		bm_json_add_string(item, "rights", f->ro ? "ro" : "rw");
		if (f->covered)
			bm_json_add_bool(item, "covered", true);
		list_add(&list, item);
	}
	return list_end(&list);
}

static int find(struct daemon *d, struct connection *c, struct bm_message *message,
		struct bench **ret_bench, struct volume **ret, struct bm_error *err)
{
	int64_t number;
	int r = bench_of_request(d, c, message->json, ret_bench, err);

	if (r < 0)
		return r;
	if (bm_json_int(message->json, "volume", &number) < 0)
		return bm_fail(err, EINVAL, "protocol", NULL, "adopt: \"volume\" is missing");
	if (!c->adoption || c->adoption->bench != (*ret_bench)->id || number < 0 ||
	    (uint64_t)number >= c->adoption->count)
		return bm_fail(err, ENOENT, "adopt", "attach with --adopt, and on one connection",
			       "this connection holds no such volume of Bench %s",
			       (*ret_bench)->name);
	*ret = &c->adoption->list[number];
	if ((*ret)->tree >= 0)
		return 0;
	*err = (*ret)->why;
	return err->code ? -err->code
			 : bm_fail(err, ENOENT, "adopt", NULL, "%.200s was asked for already",
				   (*ret)->path);
}

/* As grant does for what its caller opened, for what was mounted in the container. */
int request_adopt(struct daemon *d, struct connection *c, struct bm_message *message,
		  struct json_object **ret_reply, struct bm_error *err)
{
	struct pending *p = &c->pending;
	struct bench *bench;
	struct volume *v = NULL;
	bool over;
	int r;

	pending_drop(c);
	r = find(d, c, message, &bench, &v, err);
	if (r == 0)
		r = bench_usable(bench, err);
	if (r < 0 || !v)
		return r;
	p->tree = TAKE_FD(v->tree);
	p->kind = GRANT_FILE;
	p->writable = !v->ro;
	p->adopted = true;
	p->learn = bench->learns;
	snprintf(p->typed, sizeof(p->typed), "%s", v->source);
	snprintf(p->dest, sizeof(p->dest), "%s", v->path);
	r = bm_foreign_open(v->source, p->tree, p->writable, &p->fd, err);
	STEP(ADOPT_OPENED);
	if (r == 0)
		r = bm_source_look(p->fd, p->writable, c->uid, &p->source, err);
	if (r == 0)
		r = peer_may(c, p->fd, p->writable, err);
	if (r == 0)
		r = grant_file_check(d, bench, p->dest, p->fd, &p->source, &over, err);
	if (r == 0)
		r = secrets_prepare(d, c, bench, p, err);
	if (r < 0) {
		pending_drop(c);
		return r;
	}
	if (!secrets_busy(c))
		*ret_reply = pending_offer(d, c, bench);
	return 0;
}
