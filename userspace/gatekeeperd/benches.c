// SPDX-License-Identifier: GPL-2.0-only
/* create, attach, detach, destroy. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/step.h"
#include "bench/box.h"
#include "bench/container.h"
#include "gatekeeperd/adopt.h"
#include "gatekeeperd/ask.h"
#include "gatekeeperd/chosen.h"
#include "gatekeeperd/ending.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/owner.h"
#include "gatekeeperd/peer.h"
#include "gatekeeperd/receipt.h"
#include "gatekeeperd/room.h"
#include "gatekeeperd/lifetime.h"

static int check_new(struct daemon *d, const struct connection *c, const char *name,
		     struct bm_error *err)
{
	char shown[64];

	if (!bm_bench_name_valid(name))
		return bm_fail(err, EINVAL, "bench-name",
			       "use 1 to 32 of a-z, 0-9 and '-', a letter first",
			       "\"%s\" is no name for a Bench",
			       bm_escape(name, shown, sizeof(shown)));
	if (model_find(&d->model, name))
		return bm_fail(err, EEXIST, "bench-name", "take another name",
			       "there is a Bench %s already", name);
	return room_for_bench(d, c->uid, err);
}

static int exec_of(struct json_object *request, enum bench_exec *ret, struct bm_error *err)
{
	const char *given = bm_json_string(request, "exec");
	char shown[64];

	return bench_exec_parse(given, ret) == 0
		       ? 0
		       : bm_fail(err, EINVAL, "protocol", "give own or image",
				 "\"%s\" is no mode of execution",
				 bm_escape(given, shown, sizeof(shown)));
}

/* The name is in the model from the first step on: a crash in between leaves something to end. */
static int create(struct daemon *d, struct bench *bench, struct bm_box *box, const struct ask *ask,
		  struct bm_error *err)
{
	struct bring_up how = { .waiting = bench->name, .runtime_root = BM_CRUN_ROOT };
	struct json_object *fields = json_object_new_object();
	char cgroup[BM_CGROUP_PATH], id[ASK_ID_LEN];
	int r;

	bm_json_add_string(fields, "origin", bench_origin_name(bench->origin));
	bm_json_add_int(fields, "slot", bench->slot);
	bm_json_add_string(fields, "exec", bench_exec_name(bench->exec));
	bm_json_add_bool(fields, "userns", bench->userns);
	bm_json_add_string(fields, "created", bench->created);
	lifetime_add(fields, bench);
	if (ask) {
		bm_json_add_int(fields, "agent", bench->agent);
		bm_json_add_string(fields, "request", ask_id(ask, id));
	}
	r = bench_record(d, bench, "create", fields, err);
	bench->begun = r == 0;
	STEP(CREATE_SAID);
	if (r == 0)
		r = bm_box_create(box, &bench->pid, err);
	STEP(CREATE_BOX_MADE);
	if (r < 0)
		return r;
	bench->pid_start = pid_start_time(bench->pid);
	snprintf(cgroup, sizeof(cgroup), "/" BM_SLICE "/%s", bench->name);
	r = bm_cgroup_open(cgroup, &bench->cgroup, err);
	if (r == 0)
		r = bench_bring_up(d, bench, &how, err);
	if (r == 0)
		r = bm_box_start(bench->name, err);
	STEP(CREATE_STARTED);
	return r;
}

static void end_half_made(struct daemon *d, struct bench *bench)
{
	struct json_object *fields = json_object_new_object();
	struct bm_error err = {};

	bm_json_add_string(fields, "reason", "half-made");
	if (bench_end(d, bench, bench->origin == ORIGIN_CREATED ? "destroy" : "detach", fields,
		      &err) < 0)
		daemon_log_error("clean up a half-made Bench", &err);
}

static struct json_object *bench_reply(struct daemon *d, const struct bench *bench)
{
	struct json_object *reply = json_object_new_object();
	size_t next;

	bm_json_add(reply, "bench", bench_to_json(d, bench, 0, true, &next));
	return reply;
}

static int making_of(struct daemon *d, const struct connection *c, struct bm_message *message,
		     struct pending *p, struct bm_error *err)
{
	const char *given = bm_json_string(message->json, "bench");
	struct making *m = &p->making;
	int r;

	if (message->fd_count != 1)
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "create: no root file system was passed");
	if (given)
		snprintf(p->bench, sizeof(p->bench), "%.*s", BM_BENCH_NAME_LEN - 1, given);
	else
		model_free_name(&d->model, p->bench);
	r = check_new(d, c, given ?: p->bench, err);
	if (r == 0)
		r = bm_source_look(message->fds[0], false, c->uid, &p->source, err);
	if (r == 0)
		r = peer_may(c, message->fds[0], false, err);
	if (r == 0 && !p->source.directory)
		r = bm_fail(err, ENOTDIR, "object-kind", "give the root directory of one",
			    "the root file system is no directory");
	if (r == 0)
		r = limits_of_request(message->json, &m->limits, &m->seconds, err);
	if (r == 0)
		r = exec_of(message->json, &m->exec, err);
	m->userns = bm_json_bool(message->json, "userns");
	return r;
}

static int make(struct daemon *d, const struct connection *c, const struct pending *p, int rootfs,
		const struct ask *ask, struct bench **ret, struct bm_error *err)
{
	const struct making *m = &p->making;
	struct bm_box box = { .rootfs = rootfs,
			      .peer = c->pid,
			      .root = c->uid == 0,
			      .limits = m->limits,
			      .userns = m->userns,
			      .image = m->exec == EXEC_IMAGE };
	struct bench *bench;
	int r;

	peer_ids(c, &p->source, &box.uid, &box.gid);
	if (model_free_slot(&d->model, &box.slot) < 0)
		return bm_fail(err, ENOSPC, "limits", "destroy Benches that are not needed",
			       "all %u id ranges are in use", BM_ID_SLOTS);
	bench = model_add(&d->model, p->bench, d->model.last_bench + 1);
	if (!bench)
		return -ENOMEM;
	bench->owner = c->uid;
	bench->agent = ask ? ask->uid : BENCH_NO_AGENT;
	bench->origin = ORIGIN_CREATED;
	bench->slot = box.slot;
	bench->exec = m->exec;
	bench->userns = m->userns;
	bench->limits = m->limits;
	bench->seconds = m->seconds;
	box.name = bench->name;
	now_text(bench->created);
	r = create(d, bench, &box, ask, err);
	if (r < 0) {
		end_half_made(d, bench);
		return r;
	}
	lifetime_await(d);
	daemon_log(LOG_LEVEL_INFO, "Bench %s created", bench->name);
	*ret = bench;
	return 0;
}

/* As pending_offer() does with a grant. */
static struct json_object *making_offer(struct daemon *d, struct pending *p, const struct ask *ask)
{
	struct json_object *reply = json_object_new_object(), *json = json_object_new_object();

	snprintf(p->token, sizeof(p->token), "%" PRIu64, ++d->next_token);
	bm_json_add_string(json, "token", p->token);
	bm_json_add_string(json, "bench", p->bench);
	bm_json_add_string(json, "kind", "bench");
	bm_json_add_string(json, "exec", bench_exec_name(p->making.exec));
	bm_json_add_bool(json, "userns", p->making.userns);
	bm_json_add(json, "request", ask_describe(ask));
	source_describe(json, &p->source);
	bm_json_add(reply, "confirm", json);
	return reply;
}

int request_create(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct pending asked = { .fd = -1, .tree = -1 };
	struct bench *bench;
	struct ask *ask;
	int r = ask_fill(d, c, message->json, true, &ask, err);

	if (r == 0)
		r = making_of(d, c, message, &asked, err);
	if (r < 0)
		return r;
	if (ask) {
		pending_drop(c);
		c->pending = asked;
		c->pending.fd = TAKE_FD(message->fds[0]);
		c->pending.making.on = true;
		ask_take_up(&c->pending, ask);
		*ret_reply = making_offer(d, &c->pending, ask);
		return 0;
	}
	r = make(d, c, &asked, message->fds[0], NULL, &bench, err);
	if (r == 0)
		*ret_reply = bench_reply(d, bench);
	return r;
}

int making_confirm(struct daemon *d, struct connection *c, struct ask *ask, const char *how,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct pending *p = &c->pending;
	struct bench *bench = NULL;
	uint64_t said = bm_ledger_head(d->ledger)->n;
	struct bm_source now;
	int r = bm_source_look(p->fd, false, c->uid, &now, err);

	if (r == -ENOENT)
		r = -ESTALE;
	if (r == 0 && !source_same(&now, &p->source))
		r = bm_fail(err, ESTALE, "confirmation", "confirm it again",
			    "the root file system has changed since it was shown");
	if (r == 0)
		r = peer_may(c, p->fd, false, err);
	if (r == 0)
		r = check_new(d, c, p->bench, err);
	if (r == 0)
		r = make(d, c, p, p->fd, ask, &bench, err);
	pending_drop(c);
	ask_answered(d, c, ask, r, said, how, bench, NULL);
	if (r == 0)
		*ret_reply = bench_reply(d, bench);
	return r;
}

/* The cgroup is known to be free before the ledger hears of it. */
static int attach(struct daemon *d, struct bench *bench, const struct chosen *chosen,
		  struct adoption *adopt, struct bm_error *err)
{
	struct bring_up how = { .waiting = chosen->waiting,
				.runtime_root = chosen->runtime_root,
				.rootfs = chosen->rootfs,
				.adopt = adopt };
	autocgroup cgroup = BM_CGROUP_NONE;
	struct json_object *fields;
	int r = bm_cgroup_open(chosen->cgroup, &cgroup, err);

	/* Before anything is done to it, and again when it stands still (lifecycle.c). */
	if (r == 0)
		r = container_is_of(chosen->pid, &cgroup, bench->owner, err);
	if (r == 0)
		r = bench_refuse_overlap(d, bench, &cgroup, err);
	if (r < 0)
		return r;
	bench->cgroup = cgroup;
	cgroup.fd = -1;
	fields = json_object_new_object();
	bm_json_add_string(fields, "origin", bench_origin_name(bench->origin));
	bm_json_add_string(fields, "container", bench->container);
	bm_json_add_string(fields, "exec", bench_exec_name(bench->exec));
	bm_json_add_bool(fields, "userns", bench->userns);
	bm_json_add_string(fields, "created", bench->created);
	bm_json_add_int(fields, "pid", bench->pid);
	bm_json_add_int(fields, "pid_start", (int64_t)bench->pid_start);
	bm_json_add_string(fields, "cgroup", bench->cgroup.path);
	r = bench_record(d, bench, "attach", fields, err);
	bench->begun = r == 0;
	STEP(ATTACH_SAID);
	return r < 0 ? r : bench_bring_up(d, bench, &how, err);
}

int request_attach(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *container = bm_json_get(message->json, "container", json_type_object);
	const char *name = bm_json_string(message->json, "bench");
	autochosen chosen = {};
	enum bench_exec mode;
	bool adopt = bm_json_bool(message->json, "adopt");
	autoadoption *adoption = adopt ? adoption_new() : NULL;
	struct bench *bench;
	int r;

	if (!name || !container)
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "attach: needs \"bench\" and \"container\"");
	if (adopt && !adoption)
		return -ENOMEM;
	r = check_new(d, c, name, err);
	if (r == 0)
		r = exec_of(message->json, &mode, err);
	if (r == 0)
		r = chosen_find(container, c->uid, &chosen, err);
	if (r < 0)
		return r;
	bench = model_add(&d->model, name, d->model.last_bench + 1);
	if (!bench)
		return -ENOMEM;
	bench->owner = c->uid;
	bench->origin = ORIGIN_ATTACHED;
	bench->exec = mode;
	bench->userns = bm_json_bool(message->json, "userns");
	bench->pid = chosen.pid;
	bench->pid_start = pid_start_time(bench->pid);
	snprintf(bench->container, sizeof(bench->container), "%s", chosen.shown);
	now_text(bench->created);
	r = attach(d, bench, &chosen, adoption, err);
	if (r < 0) {
		end_half_made(d, bench);
		return r;
	}
	daemon_log(LOG_LEVEL_INFO, "Bench %s attached to %s", bench->name, bench->container);
	*ret_reply = bench_reply(d, bench);
	if (!adoption)
		return 0;
	adoption_for(adoption, bench->id);
	STEP(ATTACH_VOLUMES_HELD);
	bm_json_add(*ret_reply, "volumes", adoption_to_json(adoption));
	adoption_drop(c->adoption);
	c->adoption = TAKE_PTR(adoption);
	return 0;
}

/* NULL: it has ended so already, and that is the reply: asking twice does no harm. */
static int find_to_end(struct daemon *d, const struct connection *c, struct json_object *request,
		       const char *event, struct bench **ret, struct json_object **ret_reply,
		       struct bm_error *err)
{
	int r = bench_of_request(d, c, request, ret, err);

	if (r == -ENOENT && receipt_ended(d, c->uid, request, event, ret_reply) == 0) {
		*err = (struct bm_error){};
		*ret = NULL;
		return 0;
	}
	return r;
}

static struct json_object *asked_by(const struct connection *c)
{
	struct json_object *fields = json_object_new_object();

	bm_json_add_int(fields, "uid", c->uid);
	return fields;
}

int request_detach(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *reply, *revoked;
	struct bench *bench;
	int r = find_to_end(d, c, message->json, "detach", &bench, ret_reply, err);

	if (r < 0 || !bench)
		return r;
	if (bench->origin != ORIGIN_ATTACHED)
		return bm_fail(err, EINVAL, "detach", "`benchmon destroy` ends it",
			       "Bench %s was made by benchmon and can't be let go", bench->name);
	/* It would run without walls, or stand still with nobody who knows why. */
	if (bench->frozen || bench->freezings)
		return bm_fail(err, EBUSY, "frozen", "`benchmon thaw` it, or end the container",
			       "Bench %s is frozen", bench->name);
	reply = json_object_new_object();
	revoked = json_object_new_array();
	bm_json_add_string(reply, "bench", bench->name);
	bm_json_add(reply, "revoked", revoked);
	for (const struct grant *g = bench->grants; g; g = g->next) {
		char id[BM_GRANT_ID_LEN];

		snprintf(id, sizeof(id), "%s/%u", bench->name, g->number);
		json_object_array_add(revoked, json_object_new_string(id));
	}
	return ending_begin(d, c, bench, "detach", asked_by(c), reply, ret_reply, err);
}

int request_destroy(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *reply, *outputs;
	struct bench *bench;
	int r = find_to_end(d, c, message->json, "destroy", &bench, ret_reply, err);

	if (r < 0 || !bench)
		return r;
	if (bench->origin != ORIGIN_CREATED)
		return bm_fail(err, EINVAL, "destroy", "detach it, and remove it with what made it",
			       "Bench %s is a container that benchmon did not make", bench->name);
	reply = json_object_new_object();
	outputs = json_object_new_array();
	bm_json_add_string(reply, "bench", bench->name);
	bm_json_add_int(reply, "denied", 0);
	bm_json_add(reply, "outputs", outputs);
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (g->kind == GRANT_FILE && g->writable)
			json_object_array_add(outputs, json_object_new_string(g->source));
	return ending_begin(d, c, bench, "destroy", asked_by(c), reply, ret_reply, err);
}
