// SPDX-License-Identifier: GPL-2.0-only
/* A file or directory: looked at when it is shown, and again when it is granted. */
#include "gatekeeperd/grant_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/step.h"
#include "bench/cover.h"
#include "bench/relocate.h"
#include "bench/userns.h"
#include "gatekeeperd/carriers.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/nested.h"
#include "gatekeeperd/peer.h"
#include "gatekeeperd/recall.h"
#include "gatekeeperd/rule_four.h"
#include "gatekeeperd/secrets.h"
/*
 * Inside another grant's destination a mount point would be made on the host's own disk: only the
 * object itself is mounted over, where it is seen there.
 */
static int check_dest(const struct bench *bench, const char *dest, const struct bm_source *s,
		      bool *ret_over, struct bm_error *err)
{
	int r = bm_dest_check(dest, err);

	*ret_over = false;
	if (r < 0)
		return r;
	for (const struct grant *g = bench->grants; g; g = g->next) {
		size_t len = g->kind == GRANT_FILE ? strlen(g->dest) : 0;

		if (!len || strncmp(dest, g->dest, len))
			continue;
		if (!dest[len])
			return bm_fail(err, EEXIST, "destination",
				       "give another one, or revoke that", "%s is where %s/%u is",
				       dest, bench->name, g->number);
		if (dest[len] != '/')
			continue;
		*ret_over = bm_mount_is_at(&bench->target, dest, s->device, s->inode);
		if (!*ret_over)
			return bm_fail(err, EEXIST, "destination", "give one outside of it",
				       "%s would lie inside %s/%u", dest, bench->name, g->number);
	}
	return 0;
}

static int check_object(struct daemon *d, struct bench *bench, int fd, struct bm_error *err)
{
	struct bm_grant there;
	struct grant *grant;
	uint64_t object;

	/* A tombstone is none: it may be granted again. */
	if (bm_object_get(d->kernel, fd, &object) < 0 ||
	    bm_grant_get(d->kernel, bench->id, object, &there) < 0 || !there.rights)
		return 0;
	grant = bench_grant_of_object(bench, object);
	if (!grant)
		return bm_fail(err, EEXIST, "one-grant", NULL, "it is Bench %s's own already",
			       bench->name);
	return bm_fail(err, EEXIST, "one-grant", "revoke that first",
		       "%s/%u grants this object already", bench->name, grant->number);
}

int grant_file_check(struct daemon *d, struct bench *bench, const char *dest, int fd,
		     const struct bm_source *s, bool *ret_over, struct bm_error *err)
{
	int r = check_dest(bench, dest, s, ret_over, err);

	return r < 0 ? r : check_object(d, bench, fd, err);
}

int grant_file_prepare(struct daemon *d, struct connection *c, struct bench *bench,
		       struct bm_message *message, struct pending *p, struct bm_error *err)
{
	const char *rights = bm_json_string(message->json, "rights");
	const char *dest = bm_json_string(message->json, "dest");
	const char *typed = bm_json_string(message->json, "source");
	bool over;
	int r;

	if (message->fd_count != 1)
		return bm_fail(err, EINVAL, "protocol", NULL, "grant: the object was not passed");
	if (!typed || strlen(typed) >= sizeof(p->typed))
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "grant: \"source\" is missing or too long");
	if (!rights || (strcmp(rights, "ro") && strcmp(rights, "rw")))
		return bm_fail(err, EINVAL, "rights", "give ro or rw",
			       "grant: rights are ro or rw");
	snprintf(p->typed, sizeof(p->typed), "%s", typed);
	p->writable = !strcmp(rights, "rw");
	p->idmap = bm_json_bool(message->json, "idmap");
	r = bm_source_look(message->fds[0], p->writable, c->uid, &p->source, err);
	if (r == 0)
		r = peer_may(c, message->fds[0], p->writable, err);
	if (r < 0)
		return r;
	if (dest) {
		if (strlen(dest) >= sizeof(p->dest))
			return bm_fail(err, ENAMETOOLONG, "destination", NULL,
				       "the destination is longer than %zu bytes",
				       sizeof(p->dest) - 1);
		snprintf(p->dest, sizeof(p->dest), "%s", dest);
	} else {
		snprintf(p->dest, sizeof(p->dest), "/%s/%.200s", p->writable ? "out" : "in",
			 strrchr(p->source.path, '/') + 1);
	}
	r = grant_file_check(d, bench, p->dest, message->fds[0], &p->source, &over, err);
	if (r < 0)
		return r;
	p->fd = TAKE_FD(message->fds[0]);
	r = excepts_prepare(message->json, p, err);
	return r < 0 ? r : secrets_prepare(d, c, bench, p, err);
}

void grant_file_describe(struct json_object *json, const struct pending *p)
{
	source_describe(json, &p->source);
	bm_json_add_string(json, "dest", p->dest);
	bm_json_add_string(json, "rights", p->writable ? "rw" : "ro");
	bm_json_add_bool(json, "idmap", p->idmap);
	bm_json_add_string(json, "on_revoke", p->report ? "report" : "kill");
	if (p->except_count)
		bm_json_add(json, "except", excepts_to_json(p->excepts, p->except_count, false));
	bm_json_add_bool(json, "adopted", p->adopted);
	if (p->learn)
		bm_json_add_bool(json, "learn", true);
	if (p->secret)
		bm_json_add_bool(json, "secret", true);
	if (p->unscanned)
		bm_json_add_bool(json, "unscanned", true);
}

/*
 * Ids in the object's file system -> ids of the Bench. Its owner's files become the Bench root's;
 * of a caller who is not root only what is the caller's own.
 */
static int map_ids(const struct connection *c, struct bench *bench, const struct bm_source *s,
		   struct bm_error *err)
{
	struct bm_id_map uids = { 0, bench->target.uid, 1 };
	struct bm_id_map gids = { 0, bench->target.gid, 1 };

	peer_ids(c, s, &uids.inside, &gids.inside);
	return bm_id_maps_set(&bench->maps, uids, gids, err);
}

static int clone_object(struct connection *c, struct bench *bench, int *ret_tree,
			struct bm_error *err)
{
	struct pending *p = &c->pending;
	bool mapped = bench->target.uid && p->idmap;
	autoclose tree = TAKE_FD(p->tree);
	int r = p->adopted ? 0 : bm_mount_clone(p->fd, c->pid, &tree, err);

	if (r == 0 && mapped)
		r = map_ids(c, bench, &p->source, err);
	if (r == 0)
		r = bm_mount_restrict(tree, p->writable, mapped ? bench->maps.userns : -1, err);
	if (r == 0)
		*ret_tree = TAKE_FD(tree);
	return r;
}

static int mount_grant(const struct bench *bench, const struct grant *g, int tree,
		       struct bm_error *err)
{
	if (g->adopted)
		return bm_mount_place_back(&bench->target, tree, g->directory, g->dest, err);
	if (g->over)
		return bm_mount_cover(&bench->target, tree, g->dest, g->device, g->inode, err);
	return bm_mount_place(&bench->target, tree, g->directory, g->dest,
			      bench->origin == ORIGIN_CREATED, err);
}

int grant_file(struct daemon *d, struct connection *c, struct bench *bench, struct grant *g,
	       struct bm_error *err)
{
	struct bm_grant entry = { .rights = g->learn ? BM_LEARN
						     : BM_R | (g->writable ? BM_W : 0) |
							       (g->secret ? BM_SECRET : 0),
				  .grant = g->number,
				  .expiry_ns = g->expiry_ns };
	struct pending *p = &c->pending;
	const struct bm_target *target = &bench->target;
	struct bm_source now;
	autoclose tree = -1;
	int r = bm_source_look(p->fd, p->writable, c->uid, &now, err);

	if (r == -ENOENT)
		r = -ESTALE;
	/* What somebody else's confirmation has made of it in between, was not looked at. */
	if (r == 0 && !p->secret && p->carrier_changes != d->model.carrier_changes)
		r = bm_fail(err, ESTALE, "confirmation", "grant it again",
			    "there are more objects that may carry secrets than when it was shown");
	/* The fd pins the inode; what may have changed is what was shown of it. */
	if (r == 0 && !source_same(&now, &p->source))
		r = bm_fail(err, ESTALE, "confirmation", "grant it again",
			    "the object has changed since it was shown");
	if (r == 0)
		r = peer_may(c, p->fd, p->writable, err);
	if (r == 0)
		r = grant_file_check(d, bench, p->dest, p->fd, &now, &g->over, err);
	if (r == 0)
		r = bm_grants_room(d->kernel, 1, err);
	if (r == 0)
		r = clone_object(c, bench, &tree, err);
	if (r == 0)
		r = bm_object_mark(d->kernel, p->fd, &g->object, err);
	if (r == 0)
		r = excepts_mark(d, p->fd, g, err);
	STEP(GRANT_FILE_MARKED);
	if (r == 0)
		r = bench_record(d, bench, "grant", grant_to_json(bench, g), err);
	STEP(GRANT_FILE_SAID);
	if (r < 0)
		return r;
	/* What is adopted was opened where the host has it mounted. */
	r = nested_begin(d, bench, g->adopted ? 1 : c->pid, p->fd, g, err);
	if (r == 0)
		r = carriers_begin(d, bench, g, err);
	STEP(GRANT_FILE_NESTED);
	/* What meets it after its end has to be there before: nobody may be when it comes. */
	if (r == 0 && g->expiry_ns)
		r = bm_recall_attach(d->kernel, err);
	if (r == 0)
		r = mount_grant(bench, g, tree, err);
	STEP(GRANT_FILE_PLACED);
	if (r == 0) {
		r = rule_four_begin(d, bench, g, err);
		if (r == 0)
			r = bm_grant_put(d->kernel, bench->id, g->object, &entry, err);
		if (r < 0)
			bm_mount_take(target, grant_mount_point(g), g->device, g->inode, NULL);
	}
	STEP(GRANT_FILE_PUT);
	if (r < 0)
		nested_undo(d, bench, g);
	else
		nested_granted(d, bench, g);
	return r;
}
